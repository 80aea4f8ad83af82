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

    /** How many may have done what was asked, or may still do it. */
    [[nodiscard]] std::size_t count_unknown() const noexcept
    {
        return static_cast<std::size_t>(std::ranges::count_if(
            replies_, [](auto const& reply) { return reply && failed_as(*reply, Failure::Effect::unknown); }));
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

/** Tells why a majority was not reached, with the error that says most and the words of every node. */
class VerdictBuilder
{
public:
    VerdictBuilder(Quorum const& quorum, std::string what);

    void add(std::string const& node, std::string const& words);
    void add_failure(std::string const& node, Failure const& failure);
    void add_silence(std::string const& node);

    /** Takes in the failure in a reply of any kind. False if there is none. */
    template <class Reply>
    bool add_failure_in(std::string const& node, Reply const& reply)
    {
        auto const* const failure = std::get_if<Failure>(&reply);
        if (failure != nullptr)
            add_failure(node, *failure);
        return failure != nullptr;
    }

    /** A node that was asked has not answered, or may have done what was asked. */
    [[nodiscard]] bool in_doubt() const noexcept { return in_doubt_; }

    /** Fatal if as many nodes as can veto will refuse until a person acts. */
    [[nodiscard]] Failure take(Failure::Effect effect);

private:
    std::size_t veto_;
    std::size_t fatal_ = 0;
    bool in_doubt_ = false;
    error_code error_;
    std::string detail_;
};

} // namespace tenure::redlock
