// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace tenure::zookeeper
{

/** How many nodes a session may have, counted in bytes of their paths.
 *
 *  A server ends a session by one transaction that names all of its nodes, and writes it to its log. A log with an
 * entry longer than `jute.maxbuffer` cannot be read: the server does not start again. Pure: no I/O, no clock. */
class SessionRoom
{
public:
    /// A session takes this part of `jute.maxbuffer`; the rest is for what else such a transaction may hold.
    static constexpr std::size_t part = 2;
    /// of a path in a transaction: its length
    static constexpr std::size_t path_overhead = 4;

    [[nodiscard]] static constexpr std::size_t bytes_of(std::string_view path) noexcept
    {
        return path.size() + path_overhead;
    }

    /** Room that a node, or a claim, has taken. It is given back with the last copy. */
    using Taken = std::shared_ptr<void>;

    /** @param longest_transaction  `jute.maxbuffer` of the servers */
    explicit SessionRoom(std::size_t longest_transaction)
        : limit_(longest_transaction / part)
    {
    }

    [[nodiscard]] bool fits(std::size_t bytes) const noexcept { return *nodes_ + *claims_ + bytes <= limit_; }
    /** For a node, also if it does not fit: a claim that has begun is not refused. */
    [[nodiscard]] Taken take(std::size_t bytes) const { return take_of(nodes_, bytes); }
    /** For the node that a claim may make. */
    [[nodiscard]] Taken reserve(std::size_t bytes) const { return take_of(claims_, bytes); }
    [[nodiscard]] bool has_nodes() const noexcept { return *nodes_ > 0; }
    /** The space that nodes have taken. */
    [[nodiscard]] std::size_t used() const noexcept { return *nodes_; }

private:
    [[nodiscard]] static Taken take_of(std::shared_ptr<std::size_t> const& used, std::size_t bytes)
    {
        *used += bytes;
        return {nullptr, [used, bytes](void*) { *used -= bytes; }};
    }

    std::size_t limit_;
    /// bytes of nodes
    std::shared_ptr<std::size_t> nodes_ = std::make_shared<std::size_t>(0);
    /// bytes that pending claims have reserved
    std::shared_ptr<std::size_t> claims_ = std::make_shared<std::size_t>(0);
};

} // namespace tenure::zookeeper
