// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// OtherHolders: their cells, and whether they live.
#include "other_holders.hpp"

#include <algorithm>
#include <cstring>

#include <fcntl.h>

namespace tenure::file
{

namespace
{

constexpr std::size_t most_open_holders = 128;

} // namespace

void OtherHolders::begin(bool many) noexcept
{
    ++look_;
    many_ = many;
    // the dead first; if all live, open the ones that are needed once more
    if (known_.size() > most_open_holders)
        std::erase_if(known_, [](auto const& entry) { return !entry.second.alive; });
    if (known_.size() > most_open_holders)
        known_.clear();
}

OtherHolders::Entry& OtherHolders::find(HolderId const& id)
{
    auto& entry = known_[id];
    if (!entry.file)
        entry.file = directory_.open_file(directory_.holders(), id.text(), O_RDONLY);
    return entry;
}

OtherHolders::Seen OtherHolders::look(HolderId const& id, std::uint32_t cell)
{
    auto& entry = find(id);
    if (!entry.file)
        return {{}, errno != ENOENT, errno != ENOENT};
    if (entry.look != look_) {
        entry.look = look_;
        entry.alive = entry.file.locked_elsewhere(whole_file);
        entry.cells.clear();
        if (many_) {
            auto const bytes = entry.file.status().st_size - cells_at;
            entry.cells.resize(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 0)) / sizeof(Cell));
            static_cast<void>(entry.file.read_at(cells_at, entry.cells.data(), entry.cells.size() * sizeof(Cell)));
        }
    }
    Seen seen{{}, entry.alive, false};
    if (cell < entry.cells.size())
        seen.cell = entry.cells[cell];
    // the holder may be writing it
    constexpr int attempts = 100;
    for (int attempt = 0; !seen.cell.valid() && attempt < attempts; ++attempt)
        seen.cell = entry.file.read<Cell>(cells_at + static_cast<std::int64_t>(cell * sizeof(Cell)));
    seen.torn = !seen.cell.valid();
    return seen;
}

bool OtherHolders::alive(HolderId const& id)
{
    auto& entry = find(id);
    return entry.file ? entry.file.locked_elsewhere(whole_file) : errno != ENOENT;
}

} // namespace tenure::file
