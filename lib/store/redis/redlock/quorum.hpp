// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"

#include <store/redis/backend.hpp>

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::redlock
{

/** The servers that decide together: a grant of a majority is a grant. Shared by the pending operations, on the
 *  strand. */
class Quorum
{
public:
    using Voter = std::shared_ptr<redis::VoterBackend>;

    Quorum(std::shared_ptr<Runtime> runtime, std::vector<Voter> nodes)
        : runtime_(std::move(runtime))
        , nodes_(std::move(nodes))
    {
    }

    [[nodiscard]] Runtime& runtime() const noexcept { return *runtime_; }
    [[nodiscard]] std::shared_ptr<Runtime> const& shared_runtime() const noexcept { return runtime_; }
    [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
    [[nodiscard]] std::size_t majority() const noexcept { return nodes_.size() / 2 + 1; }
    /** The number of nodes that can prevent a majority. */
    [[nodiscard]] std::size_t veto() const noexcept { return nodes_.size() - majority() + 1; }
    [[nodiscard]] std::vector<Voter> const& nodes() const noexcept { return nodes_; }

private:
    std::shared_ptr<Runtime> runtime_;
    std::vector<Voter> nodes_;
};
using QuorumPtr = std::shared_ptr<Quorum const>;

/** The answers of the nodes to one request. */
template <class Reply>
class Votes
{
public:
    explicit Votes(std::size_t nodes)
        : replies_(nodes)
    {
    }

    void cast(std::size_t node, Reply reply) { replies_[node] = std::move(reply); }

    [[nodiscard]] std::size_t size() const noexcept { return replies_.size(); }
    [[nodiscard]] bool is_cast(std::size_t node) const noexcept { return replies_[node].has_value(); }
    [[nodiscard]] Reply const& of(std::size_t node) const { return *replies_[node]; }

    /** The number of replies for which the predicate is true. */
    template <class Predicate>
    [[nodiscard]] std::size_t count_if(Predicate predicate) const
    {
        return static_cast<std::size_t>(
            std::ranges::count_if(replies_, [&](auto const& reply) { return reply && predicate(*reply); }));
    }

    /** The number of nodes that have answered. */
    [[nodiscard]] std::size_t cast() const
    {
        return count_if([](Reply const&) { return true; });
    }

    /** The number of answers of this type. */
    template <class Answer>
    [[nodiscard]] std::size_t count() const
    {
        return count_if([](Reply const& reply) { return std::holds_alternative<Answer>(reply); });
    }

    /** The number of nodes that may have executed the request, or may do so later. */
    [[nodiscard]] std::size_t count_unknown() const
    {
        return count_if([](Reply const& reply) { return failed_as(reply, Failure::Effect::unknown); });
    }

    /** The node's answer, if it has this type. */
    template <class Answer>
    [[nodiscard]] Answer const* get(std::size_t node) const noexcept
    {
        return replies_[node] ? std::get_if<Answer>(&*replies_[node]) : nullptr;
    }

    [[nodiscard]] bool complete() const { return cast() == size(); }

private:
    std::vector<std::optional<Reply>> replies_;
};

/** Result of one node, as text for people. */
struct NodeAccount {
    bool replied = false;
    /// null: the reply is not a failure
    Failure const* failure = nullptr;
    /// for a reply that is not a failure; empty: the node is not mentioned
    std::string_view words = {};
};

/** Makes the failure of a request without a majority, with the most useful error and the text of every node. Fatal if
 *  enough nodes for a veto will refuse until a person acts.
 *  @param what      the request
 *  @param accounts  of all nodes, in their order
 *  @param effect    of the request; unset: derived from the replies */
[[nodiscard]] Failure no_majority(
    Quorum const& quorum, std::string what, std::vector<NodeAccount> const& accounts,
    std::optional<Failure::Effect> effect);

/** As above for votes. `words(node)` is the text for a reply that is not a failure. */
template <class Reply, class Words>
[[nodiscard]] Failure no_majority(
    Quorum const& quorum, std::string what, Votes<Reply> const& votes, Words words,
    std::optional<Failure::Effect> effect)
{
    std::vector<NodeAccount> accounts(quorum.size());
    for (std::size_t node = 0; node < quorum.size(); ++node)
        if (votes.is_cast(node)) {
            auto const* const failure = votes.template get<Failure>(node);
            accounts[node] = {true, failure, failure == nullptr ? words(node) : std::string_view()};
        }
    return no_majority(quorum, std::move(what), accounts, effect);
}

} // namespace tenure::redlock
