// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "directory.hpp"
#include "files/fork_closed.hpp"
#include "layout.hpp"

#include <tenure/backend/runtime.hpp>

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
    OwnHolder(Directory const& directory, Runtime& runtime);

    /** Takes a free cell and writes it. */
    [[nodiscard]] std::shared_ptr<Tenancy> take(BootTime until, BootTime now);
    /** The end of a claim; unset if it has ended. */
    [[nodiscard]] std::optional<BootTime> until(std::uint32_t cell, std::uint64_t claim) const noexcept;
    struct Extension {
        std::uint32_t cell;
        BootTime until;
    };
    /** Writes new ends, all at once; after an error the old ends stay. */
    void extend(std::span<Extension const> extensions);
    /** Ends the claim: its key is free if a record still names the cell. */
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

} // namespace tenure::file
