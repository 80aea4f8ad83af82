// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/key_range.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::zookeeper
{

/** Where the keys of a range lie: `thread_id_lock:3` is the node `CHROOT/thread_id_lock:/3`, and `nightly` is
 * `CHROOT/nightly/lock`. A key is cut before the digits that it ends with, whatever range it was asked for by, so that
 * a key is one node; and all keys of a range have one parent. */
class RangeNodes
{
public:
    /** @param chroot  empty, or a path without a trailing '/'
     *  @param user  empty: without a login */
    RangeNodes(std::string chroot, std::string user, KeyRange range);

    [[nodiscard]] std::string const& parent() const noexcept { return parent_; }
    [[nodiscard]] std::string path(std::uint32_t index) const
    {
        return index == 0 ? first_path_ : parent_ + "/" + name(index);
    }
    /** See `generation_path`. */
    [[nodiscard]] std::string generation(std::uint32_t index) const;

    /** The key that a child of the parent stands for; unset if it is none of this range. */
    [[nodiscard]] std::optional<std::uint32_t> index_of(std::string_view name) const;

private:
    [[nodiscard]] std::string name(std::uint32_t index) const;

    std::string chroot_;
    std::string user_;
    KeyRange range_;
    std::string parent_;
    /// what the names of the children begin with: digits, or nothing
    std::string digits_;
    // of the first key, which most ranges are asked for most often, and many have no other
    std::string first_path_;
    std::string first_generation_;
};

/** A part of a key as a name that ZooKeeper takes: all but printable ASCII without '/' and '%' stands as `%XX`. */
[[nodiscard]] std::string escaped(std::string_view text);

/** The generation of a key: one of a fixed number of nodes, each for the keys of one hash value, that every claim
 * writes to. Users have nodes of their own. No node of a key is called so. @param user  empty: without a login */
[[nodiscard]] std::string generation_path(std::string const& chroot, std::string_view user, std::string_view key);

/** Nodes that must be there before `path` can be: `/a`, `/a/b` for `/a/b/c`. */
[[nodiscard]] std::vector<std::string> ancestors_of(std::string_view path);

} // namespace tenure::zookeeper
