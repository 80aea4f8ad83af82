// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "directory.hpp"
#include "runtime/fork_closed.hpp"

#include <tenure/backend/runtime.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tenure::file
{

class OwnHolder;

/** A cell in use: `Claim::handle`. */
struct Tenancy {
    std::shared_ptr<OwnHolder> holder;
    std::uint32_t cell = 0;
    /// the claim's number, which no other claim of this holder has
    std::uint64_t claim = 0;
};

/** The holder file of this store. Its lock says that the store lives, its cells say until when it has which keys.
 *
 *  Only this object writes the file, so it knows the cells without reading. It lives as long as a claim refers to it.
 */
class OwnHolder : public std::enable_shared_from_this<OwnHolder>
{
public:
    /** Makes holder file and FIFO. */
    OwnHolder(Directory const& directory, Runtime& runtime);

    [[nodiscard]] HolderId const& id() const noexcept { return id_; }
    [[nodiscard]] Descriptor const& file() const noexcept { return file_; }
    [[nodiscard]] Descriptor const& fifo() const noexcept { return fifo_; }

    /** Takes a free cell and writes it. */
    [[nodiscard]] std::shared_ptr<Tenancy> take(BootTime until, BootTime now);
    /** The end of a claim; unset if it has ended. */
    [[nodiscard]] std::optional<BootTime> until(std::uint32_t cell, std::uint64_t claim) const noexcept;
    /** Sets new ends, and writes all of them at once; after an error the old ends stay. */
    struct Extension {
        std::uint32_t cell;
        BootTime until;
    };
    void extend(std::span<Extension const> extensions);
    /** Ends the claim: its key is free if a record still names the cell. */
    void end(Tenancy const& tenancy);
    /** The latest end of all cells. */
    [[nodiscard]] BootTime last_end() const noexcept;

    /** Notes the file that is about to be locked. */
    void note(std::uint64_t inode);

private:
    void grow(BootTime now);

    HolderId id_;
    Descriptor file_;
    Descriptor fifo_;
    /// a child must not keep this holder alive
    ForkClosed file_in_children_;
    ForkClosed fifo_in_children_;
    /// what the file has
    std::vector<Cell> cells_;
    /// cells that may be taken at once
    std::vector<std::uint32_t> free_;
    std::uint64_t last_claim_ = 0;
    /// `HolderHeader::locks`
    std::uint64_t noted_ = 0;
};

} // namespace tenure::file
