// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "encoding.hpp"
#include "fork_closed.hpp"
#include "machine_clock.hpp"
#include "runtime/names.hpp"
#include "shared_directory.hpp"

#include <tenure/backend/runtime.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

// A process that has something until an instant says so in a file that it alone writes: its holder file. A lock on the
// whole file says that the process lives.
namespace tenure
{

/** The name of a holder file, and of the FIFO of the same process. */
struct HolderId {
    std::array<std::byte, 16> bytes{};

    /** 32 hexadecimal digits */
    [[nodiscard]] std::string text() const { return hexadecimal(bytes); }
    friend auto operator<=>(HolderId const&, HolderId const&) = default;
};

/** Says until when the holder has one thing. */
struct Cell {
    std::uint64_t checksum = 0;
    /// no other claim of this holder has this number; 0: no claim
    std::uint64_t claim = 0;
    BootTime until = 0;
    std::uint64_t reserved = 0;

    [[nodiscard]] std::uint64_t sum() const noexcept;
};
/** The place of a cell in a holder file. */
constexpr std::int64_t cell_at(std::uint32_t cell) noexcept
{
    return 512 + std::int64_t{cell} * 32;
}

/** The beginning of a holder file, for people and for the search for a process that keeps a lock. */
struct HolderHeader {
    std::array<char, 8> magic{'t', 'e', 'n', 'u', 'r', 'e', 'h', '1'};
    std::int32_t pid = 0;
    std::uint32_t reserved = 0;
    /// inode of the file that the process locks now, or has locked last
    std::uint64_t locks = 0;
    std::array<char, 104> program{};
};

/** The folders of holder files and of FIFOs. */
struct HolderFolders {
    SharedDirectory const& directory;
    Descriptor const& holders;
    Descriptor const& fifos;

    /** True while a process has the holder file open. */
    [[nodiscard]] bool is_alive(HolderId const& id) const noexcept;
    /** Names the process that has noted the lock of a file; a stopped one, if there is one. */
    [[nodiscard]] std::string locker_of(std::uint64_t inode, HolderId const& but) const;
    /** Deletes the files of a dead holder all of whose ends have passed. */
    void sweep(std::string const& name, BootTime now) const;
    void remove(std::string const& name) const noexcept;
};

class OwnHolder;
/** A cell in use. */
struct Tenancy {
    std::shared_ptr<OwnHolder> holder;
    std::uint32_t cell = 0;
    std::uint64_t claim = 0;
    /// the number of the record that names the cell; set by its writer
    std::uint32_t slot = 0;
};

/** The holder file of this process. Only this object writes it, so it knows the cells without reading. It lives as long
 *  as a tenancy refers to it. All functions may throw std::system_error. */
class OwnHolder
{
public:
    OwnHolder(HolderFolders const& folders, Runtime& runtime);

    /** Takes a free cell and writes it. The caller, who owns this object, sets `Tenancy::holder`. */
    [[nodiscard]] Tenancy take(BootTime until, BootTime now);
    /** The end of a claim; unset if it has ended. */
    [[nodiscard]] std::optional<BootTime> until(std::uint32_t cell, std::uint64_t claim) const noexcept;
    struct Extension {
        std::uint32_t cell;
        BootTime until;
    };
    /** Writes new ends, all at once; after an error the old ends stay. */
    void extend(std::span<Extension const> extensions);
    /** Ends the claim; its cell may be used again. */
    void end(Tenancy const& tenancy);
    /** The latest end of all cells. */
    [[nodiscard]] BootTime last_end() const noexcept;
    /** Notes the file that is about to be locked. */
    void note(std::uint64_t inode);

    HolderId const id;
    Descriptor const file;
    Descriptor const fifo;

private:
    void grow();

    /// a child must not keep this holder alive
    ForkClosed file_in_children_;
    ForkClosed fifo_in_children_;
    /// what the file has
    std::vector<Cell> cells_;
    /// the search for a free cell begins here
    std::uint32_t next_ = 0;
    std::uint64_t last_claim_ = 0;
    /// `HolderHeader::locks`
    std::uint64_t noted_ = 0;
};

/** The cells of other holders at one look, each block of a file read once. */
class OtherHolders
{
public:
    explicit OtherHolders(HolderFolders const& folders) noexcept
        : folders_(folders)
    {
    }

    [[nodiscard]] bool alive(HolderId const& id) { return find(id).alive; }
    /** Not whole if it cannot be read. */
    [[nodiscard]] Cell cell(HolderId const& id, std::uint32_t number);

private:
    static constexpr std::uint32_t block_size = 112;
    struct Holder {
        /// empty: the file is gone, or cannot be opened
        Descriptor file;
        bool alive = false;
        std::map<std::uint32_t, std::array<Cell, block_size>> blocks;
    };
    [[nodiscard]] Holder& find(HolderId const& id);

    HolderFolders folders_;
    std::map<HolderId, Holder> holders_;
};

} // namespace tenure
