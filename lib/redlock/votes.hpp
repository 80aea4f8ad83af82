// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "quorum.hpp"

#include <tenure/backend/backend.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tenure::redlock
{

/** What the nodes of a quorum have answered to one and the same question. */
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

    /** How many answered at all. */
    [[nodiscard]] std::size_t cast() const noexcept
    {
        return static_cast<std::size_t>(
            std::ranges::count_if(replies_, [](auto const& reply) { return reply.has_value(); }));
    }

    /** How many answered so. */
    template <class Answer>
    [[nodiscard]] std::size_t count() const noexcept
    {
        return static_cast<std::size_t>(std::ranges::count_if(
            replies_, [](auto const& reply) { return reply && std::holds_alternative<Answer>(*reply); }));
    }

    /** The node's answer, if it is such a one. */
    template <class Answer>
    [[nodiscard]] Answer const* get(std::size_t node) const noexcept
    {
        return replies_[node] ? std::get_if<Answer>(&*replies_[node]) : nullptr;
    }

    [[nodiscard]] bool complete() const noexcept { return cast() == size(); }

private:
    std::vector<std::optional<Reply>> replies_;
};

/** Why a majority was not reached: the error that says most, and the words of every node. */
struct Verdict {
    error_code error;
    std::string detail;
    /// as many nodes as can veto will refuse until a person acts
    bool fatal = false;
    /// a node that was asked has not answered, or may have done what was asked
    bool in_doubt = false;
};

/** Gathers a verdict node by node. */
class VerdictBuilder
{
public:
    VerdictBuilder(Quorum const& quorum, std::string what);

    void add(std::string const& node, std::string const& words);
    void add_failure(std::string const& node, error_code error, std::string const& detail, bool fatal);
    void add_silence(std::string const& node);
    void in_doubt() noexcept { verdict_.in_doubt = true; }

    /** Takes in what every reply has: refused, not sent, unknown. False for any other. */
    template <class Reply>
    bool add_failure(std::string const& node, Reply const& reply)
    {
        if (auto const* const refused = std::get_if<Refused>(&reply))
            add_failure(node, refused->error, refused->detail, refused->fatal);
        else if (auto const* const not_sent = std::get_if<NotSent>(&reply))
            add_failure(node, not_sent->error, not_sent->detail, not_sent->fatal);
        else if (auto const* const unknown = std::get_if<Unknown>(&reply)) {
            add_failure(node, unknown->error, unknown->detail, false);
            in_doubt();
        } else
            return false;
        return true;
    }

    [[nodiscard]] Verdict take();

private:
    std::size_t veto_;
    std::size_t fatal_ = 0;
    Verdict verdict_;
};

} // namespace tenure::redlock
