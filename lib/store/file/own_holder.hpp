// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "descriptor.hpp"
#include "directory.hpp"
#include "fork_closed.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

namespace tenure::file
{

class OwnHolder;
class RangeFile;

/** A cell in use: `Claim::handle`. */
struct Tenancy {
    std::shared_ptr<OwnHolder> holder;
    std::uint32_t cell = 0;
    /// the claim's number, which no other claim of this holder has
    std::uint64_t claim = 0;
    /// the range file of its record, while it is open
    std::weak_ptr<RangeFile> file = {};
    /// the record in that file
    std::uint32_t slot = 0;
};

/** The holder file of this store. Its lock says that the store lives, its cells say until when it has which keys.
 *
 *  Only this object writes the file, so it knows the cells without reading. It lives as long as a claim refers to it.
 */
class OwnHolder : public std::enable_shared_from_this<OwnHolder>
{
public:
    /** Makes holder file and FIFO, and locks the file. */
    [[nodiscard]] static std::variant<std::shared_ptr<OwnHolder>, Failure>
    make(Directory const& directory, Runtime& runtime);

    OwnHolder(OwnHolder const&) = delete;
    OwnHolder& operator=(OwnHolder const&) = delete;
    ~OwnHolder() = default;

    [[nodiscard]] HolderId const& id() const noexcept { return id_; }
    /** Takes a free cell and writes it. */
    [[nodiscard]] std::variant<std::shared_ptr<Tenancy>, Failure> take(BootTime until, BootTime now);

    /** The end that the cell of this claim has; unset if the claim has ended. */
    [[nodiscard]] std::optional<BootTime> until(Tenancy const& tenancy) const noexcept;
    /** Sets new ends and writes all of them at once. `errno` has the reason of a failure; the old ends then stay. */
    struct Extension {
        std::uint32_t cell;
        BootTime until;
    };
    [[nodiscard]] bool extend(std::span<Extension const> extensions);
    /** Ends the claim: its key is free. */
    [[nodiscard]] bool end(Tenancy const& tenancy);
    /** The record that named the cell names another one or none: the cell may be used again. */
    void forget(Tenancy const& tenancy) noexcept;

    /** Notes the file that is about to be locked. */
    void note(std::uint64_t inode) noexcept;

    /** True if the file was deleted: other processes take this holder for dead. */
    [[nodiscard]] bool deleted() const noexcept { return file_.deleted(); }
    /** The latest end of all cells. */
    [[nodiscard]] BootTime last_end() const noexcept;
    /** Deletes holder file and FIFO. */
    void remove(Directory const& directory) noexcept;

    /** Both keep the holder alive as long as any process has them open. */
    [[nodiscard]] int file_number() const noexcept { return file_.number(); }
    [[nodiscard]] int fifo_number() const noexcept { return fifo_.number(); }

private:
    OwnHolder(HolderId id, Descriptor file, Descriptor fifo);
    [[nodiscard]] bool grow(BootTime now);
    void free_cell(std::uint32_t cell) noexcept;

    HolderId id_;
    Descriptor file_;
    /// open for reading and writing: without writers a FIFO would be at its end all the time
    Descriptor fifo_;
    ForkClosed file_in_children_;
    ForkClosed fifo_in_children_;
    /// what the file has
    std::vector<Cell> cells_;
    /// expired: no claim refers to the cell, which is free once its end has passed
    std::vector<std::weak_ptr<Tenancy>> users_;
    /// cells that may be taken at once
    std::vector<std::uint32_t> free_;
    std::uint64_t last_claim_ = 0;
    /// `HolderHeader::locks`
    std::uint64_t noted_ = 0;
};

} // namespace tenure::file
