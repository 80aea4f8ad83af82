// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Layout of leases in ZooKeeper's tree, which other programs share: the names of nodes, and the contents of a key's
// node.
#pragma once

#include <tenure/backend/share.hpp>
#include <tenure/key_range.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenure::zookeeper
{

/** The generation of a key: one of a fixed number of nodes, each for the keys of one hash value, to which every claim
 *  writes. Users have separate generations. No node of a key has such a name.
 *  @param user  empty: without a login */
[[nodiscard]] std::string generation_path(std::string const& chroot, std::string_view user, std::string_view key);

/** Paths of the keys of a range: `thread_id_lock:3` is the node `CHROOT/thread_id_lock:/3`, and `nightly` is
 *  `CHROOT/nightly/lock`. A key is always cut before its final digits, so that each key is one node in all
 *  ranges. All keys of a range have one parent. A key that is held in places is not cut: it is the parent of its
 *  places. */
class RangeNodes
{
public:
    /** @param chroot  empty, or a path without a trailing '/'
     *  @param user  empty: without a login */
    RangeNodes(std::string chroot, std::string user, KeyRange range);

    [[nodiscard]] std::string const& parent() const noexcept { return parent_; }
    [[nodiscard]] std::string path(std::uint32_t index) const { return parent_ + "/" + name(index); }
    /** The path of an owner's place, up to its digits. */
    [[nodiscard]] std::string place(std::string_view owner, backend::Share const& share) const;
    /** See `generation_path`. */
    [[nodiscard]] std::string generation(std::uint32_t index) const
    {
        return generation_path(chroot_, user_, range_.key(index));
    }

    /** The index of the key of this child; nullopt if the key is not in this range. */
    [[nodiscard]] std::optional<std::uint32_t> index_of(std::string_view name) const;

private:
    [[nodiscard]] std::string name(std::uint32_t index) const;

    std::string chroot_;
    std::string user_;
    KeyRange range_;
    std::string parent_;
    /// common begin of the names of the children: digits, or empty
    std::string digits_;
};

/** The name of a place. Readers, writers and fair locks have the names that Curator gives its own. */
struct PlaceName {
    /// ten digits, which order the places of a key
    std::string_view digits;
    backend::Share share;
    /// of a read-write lock, whose names Curator sorts differently than those of other locks
    bool reads_or_writes = false;
};
/** Nullopt: it is another node. */
[[nodiscard]] std::optional<PlaceName> read_place(std::string_view name) noexcept;

/** The begin of the keys whose nodes are below this node of the chroot; nullopt: none are. */
[[nodiscard]] std::optional<std::string> begin_of_keys(std::string_view parent);
/** The key of a child; nullopt: no key has it. @param begin  see `begin_of_keys` */
[[nodiscard]] std::optional<std::string> key_of_child(std::string const& begin, std::string_view child);

/** Contents of a key's node: the owner, and on a second line the ttl for inspections (`ttl=10000`, milliseconds). */
struct NodeValue {
    std::string owner;
    /// unset in nodes of other software
    std::optional<std::chrono::milliseconds> ttl;
};

[[nodiscard]] std::string encode(std::string_view owner, std::optional<std::chrono::milliseconds> ttl);
/** Never fails: the first line of other software's data is the owner. */
[[nodiscard]] NodeValue decode(std::string_view data);

} // namespace tenure::zookeeper
