// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "file_under_attack.hpp"

#include "harness/auditor.hpp"

#include <store/file/layout.hpp>

#include <array>
#include <chrono>
#include <exception>
#include <filesystem>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace tenure::faults
{

using namespace std::chrono_literals;
using test::boottime_ns;

std::string FileUnderAttack::url(std::size_t) const
{
    return "file://" + path();
}

// -- what is there --

KeyLook FileUnderAttack::look_at(std::uint32_t cell, OtherHolders& holders) const
{
    KeyLook key;
    auto const place = file::place_of(*named_key(arena_.key(cell)), 0);
    auto const range = view_->open_file(view_->ranges, file_name_of(place.stem), O_RDONLY);
    if (!range)
        return key;
    auto const pair = range.read<file::RecordPair>(file::Segment::record_at(place.slot));
    auto const& record = file::current(pair);
    key.fencing_token = record.token;
    auto const now = boottime_ns();
    if (record.length == 0 || record.until != 0) {
        key.held = now < record.until;
        key.expiry = record.until;
        return key;
    }
    auto const its_cell = holders.cell(record.holder, record.cell);
    key.held = holders.alive(record.holder) && its_cell.claim == record.claim && now < its_cell.until;
    key.expiry = its_cell.until;
    return key;
}

std::optional<std::vector<KeyLook>> FileUnderAttack::look()
try {
    if (!view_ || !view_->is_same())
        view_.emplace(config());
    OtherHolders holders(view_->folders());
    std::vector<KeyLook> keys;
    for (std::uint32_t cell = 0; cell < arena_.cells(); ++cell)
        keys.push_back(look_at(cell, holders));
    return view_->is_same() ? std::optional(keys) : std::nullopt;
} catch (std::exception const&) {
    // it is being replaced
    view_.reset();
    return std::nullopt;
}

// -- what is done --

bool FileUnderAttack::replace_directory(Attack& attack)
{
    FaultScope const fault{attack.ledger, forgetting("directory moved away")};
    std::filesystem::rename(path(), scratch_.file("moved-" + std::to_string(++moved_)));
    return true;
}

bool FileUnderAttack::delete_files(Attack& attack, char const* folder)
{
    FaultScope const fault{attack.ledger, forgetting(std::string("files deleted: ") + folder)};
    file::Directory const directory(config());
    auto const& files = folder == std::string("ranges") ? directory.ranges : directory.holders;
    for (auto const& name : files.names())
        ::unlinkat(files.number(), name.c_str(), 0);
    return true;
}

bool FileUnderAttack::keep_lock(Attack& attack, bool briefly)
{
    file::Directory const directory(config());
    auto const place = file::place_of(*named_key(arena_.key(0)), 0);
    auto const range = directory.open_file(directory.ranges, file_name_of(place.stem), O_RDWR);
    if (!range)
        return false;
    FaultScope const fault{
        attack.ledger, harmless(briefly ? "range locked for 40 ms" : "range locked for more than G")};
    while (!range.try_lock(whole_file))
        attack.wait(0ms);
    attack.wait(briefly ? 40ms : arena_.ttl * 6 / 5);
    range.unlock(whole_file);
    return true;
}

bool FileUnderAttack::spoil_line(Attack& attack)
{
    // locks that are held in places have no line
    if (arena_.slots == 0)
        return false;
    file::Directory const directory(config());
    auto const place = file::line_of(*numbered_keys(Arena::prefix, arena_.slots));
    auto const range = directory.open_file(directory.ranges, file_name_of(place.stem), O_RDWR);
    if (!range)
        return false;
    FaultScope const fault{attack.ledger, harmless("line of waiters overwritten")};
    std::array<std::uint64_t, 512> noise{};
    for (auto& word : noise)
        word = attack.random.below(not_yet);
    range.write_at(0, noise.data(), sizeof noise);
    return true;
}

std::vector<Disturbance> FileUnderAttack::disturbances()
{
    return {
        {"directory moved away", 2, [this](Attack& attack) { return replace_directory(attack); }},
        {"range files deleted", 2, [this](Attack& attack) { return delete_files(attack, "ranges"); }},
        {"holder files deleted", 2, [this](Attack& attack) { return delete_files(attack, "holders"); }},
        {"range locked for 40 ms", 1, [this](Attack& attack) { return keep_lock(attack, true); }},
        {"range locked for more than G", 1, [this](Attack& attack) { return keep_lock(attack, false); }},
        {"line of waiters overwritten", 2, [this](Attack& attack) { return spoil_line(attack); }}};
}

} // namespace tenure::faults
