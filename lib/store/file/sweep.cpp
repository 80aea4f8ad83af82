// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Sweeper: deletes files under their locks.
#include "sweep.hpp"

#include "session.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace tenure::file
{

using namespace std::chrono_literals;

namespace
{

constexpr auto pause = 60s;
constexpr int names_per_step = 4;
constexpr std::chrono::seconds unused_range{600};
/// larger files are left alone, because reading them would hold the strand up
constexpr std::int64_t largest_range = 4 << 20;

} // namespace

void Sweeper::list(Session& session, std::vector<std::string>& names)
{
    namespace fs = std::filesystem;
    for (auto const* const folder : {&session.directory().holders(), &session.directory().ranges()}) {
        std::error_code error;
        auto const path = "/proc/self/fd/" + std::to_string(folder->number());
        for (auto entry = fs::directory_iterator(path, error); !error && entry != fs::directory_iterator();
             entry.increment(error))
            names.push_back(entry->path().filename().string());
    }
}

void Sweeper::step(Session& session)
{
    auto const now = session.runtime().now();
    if (names_.empty()) {
        if (now < next_round_)
            return;
        next_round_ = now + pause;
        list(session, names_);
    }
    for (int count = 0; count < names_per_step && !names_.empty(); ++count) {
        auto const name = std::move(names_.back());
        names_.pop_back();
        if (name.starts_with('='))
            sweep_range(session, name);
        else if (!name.starts_with('.'))
            sweep_holder(session, name);
    }
}

void Sweeper::sweep_holder(Session& session, std::string const& name)
{
    auto const& directory = session.directory();
    auto const file = directory.open_file(directory.holders(), name, O_RDWR);
    // the lock: nobody may be about to lock a new file
    if (name == session.holder().id().text() || !file || !file.try_lock(whole_file))
        return;
    auto const bytes = std::max<std::int64_t>(file.status().st_size - cells_at, 0);
    std::vector<Cell> cells(static_cast<std::size_t>(bytes) / sizeof(Cell));
    static_cast<void>(file.read_at(cells_at, cells.data(), cells.size() * sizeof(Cell)));
    auto const now = session.now();
    // a key with quarantine stays taken until then
    if (std::ranges::any_of(cells, [now](Cell const& cell) { return cell.claim != 0 && cell.until > now; }))
        return;
    ::unlinkat(directory.wake().number(), name.c_str(), 0);
    ::unlinkat(directory.holders().number(), name.c_str(), 0);
}

void Sweeper::sweep_range(Session& session, std::string const& name)
{
    auto const& directory = session.directory();
    auto file = directory.open_file(directory.ranges(), name, O_RDWR);
    auto const found = file.status();
    auto const age = std::chrono::system_clock::now().time_since_epoch() - std::chrono::seconds(found.st_mtime);
    if (!file || age < unused_range || found.st_size > largest_range || !file.try_lock(whole_file))
        return;
    auto const now = session.now();
    auto const count =
        std::max<std::int64_t>(found.st_size - records_at, 0) / static_cast<std::int64_t>(sizeof(RecordPair));
    auto const range = std::make_shared<RangeFile>(std::move(file), name);
    std::vector<RecordPair> pairs;
    session.others().begin(true);
    bool const is_free =
        range->read(0, static_cast<std::uint32_t>(count), pairs) &&
        std::ranges::none_of(pairs, [&](RecordPair const& pair) { return session.look(current(pair), now).taken; });
    auto const line = Line(range);
    bool const watched = std::ranges::any_of(
        line.entries(), [&](LineEntry const& entry) { return entry.role != 0 && session.is_alive(entry.holder); });
    if (is_free && !watched && !range->file().deleted())
        ::unlinkat(directory.ranges().number(), name.c_str(), 0);
}

} // namespace tenure::file
