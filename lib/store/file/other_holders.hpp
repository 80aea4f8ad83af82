// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "descriptor.hpp"
#include "directory.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tenure::file
{

/** The holder files of other stores. Keeps some of them open. */
class OtherHolders
{
public:
    explicit OtherHolders(Directory const& directory) noexcept
        : directory_(directory)
    {
    }

    /** A cell, and whether its holder lives. */
    struct Seen {
        /// without a claim if the file is gone
        Cell cell;
        bool alive = false;
        /// the cell could not be read in one piece
        bool torn = false;
    };

    /** Begins a look at many cells: what is read from now on is remembered until the next call.
     *  @param many  a holder's cells are read all at once */
    void begin(bool many) noexcept;
    /** Reads a cell, after the clock and the record that names it. */
    [[nodiscard]] Seen look(HolderId const& id, std::uint32_t cell);
    /** True while a process has the holder file open. Not remembered. */
    [[nodiscard]] bool alive(HolderId const& id);

private:
    struct Entry {
        /// empty: there is no such file
        Descriptor file;
        /// the look in which the rest was read
        std::uint64_t look = 0;
        bool alive = false;
        std::vector<Cell> cells;
    };
    [[nodiscard]] Entry& find(HolderId const& id);

    Directory const& directory_;
    std::map<HolderId, Entry> known_;
    /// counts calls of `begin`
    std::uint64_t look_ = 1;
    bool many_ = false;
};

} // namespace tenure::file
