// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Session: deletes files under their locks.
#include "watches.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>

#include <fcntl.h>
#include <unistd.h>

namespace tenure::file
{

using namespace std::chrono_literals;

void Session::sweep()
try {
    constexpr auto pause = 60s;
    constexpr int names_per_call = 4;
    if (unswept_.empty()) {
        if (runtime->now() < next_sweep_)
            return;
        next_sweep_ = runtime->now() + pause;
        unswept_ = directory.holders.names();
        std::ranges::copy(directory.ranges.names(), std::back_inserter(unswept_));
    }
    for (int count = 0; count < names_per_call && !unswept_.empty(); ++count) {
        auto const name = std::move(unswept_.back());
        unswept_.pop_back();
        if (name.starts_with('='))
            sweep_range(name);
        else if (!name.starts_with('.') && name != holder->id().text())
            sweep_holder(name);
    }
} catch (std::exception const&) { // NOLINT(bugprone-empty-catch): another round follows
}

void Session::sweep_holder(std::string const& name) const
{
    auto const file = directory.open_file(directory.holders, name, O_RDWR);
    if (!file || !file.try_lock(whole_file))
        return;
    auto const bytes = std::max<std::int64_t>(file.status().st_size - cell_at(0), 0);
    std::vector<Cell> cells(static_cast<std::size_t>(bytes) / sizeof(Cell));
    file.read_at(cell_at(0), cells.data(), cells.size() * sizeof(Cell));
    // a key with quarantine stays taken until the end of its cell
    if (std::ranges::none_of(cells, [now = now()](auto const& cell) { return cell.claim != 0 && cell.until > now; }))
        directory.remove_holder(name);
}

void Session::sweep_range(std::string const& name) const
{
    constexpr std::chrono::seconds unused{600};
    constexpr std::int64_t largest = 4 << 20; // reading more would hold the strand up
    auto file = directory.open_file(directory.ranges, name, O_RDWR);
    auto const found = file.status();
    auto const age = std::chrono::system_clock::now().time_since_epoch() - std::chrono::seconds(found.st_mtime);
    if (!file || age < unused || found.st_size > largest || !file.try_lock(whole_file) || file.deleted())
        return;
    RangeFile const range{std::move(file)};
    Look look(*this);
    auto const bytes = std::max<std::int64_t>(found.st_size - records_at, 0);
    auto const slots = static_cast<std::uint32_t>(static_cast<std::size_t>(bytes) / sizeof(RecordPair));
    bool taken = false;
    range.each({{}, 0, slots}, [&](std::uint32_t, RecordPair const& pair) {
        taken = look.at(current(pair)).taken;
        return !taken;
    });
    if (!taken && std::ranges::none_of(Line(range).entries, [this](auto const& one) { return is_alive(one.holder); }))
        ::unlinkat(directory.ranges.number(), name.c_str(), 0);
}

} // namespace tenure::file
