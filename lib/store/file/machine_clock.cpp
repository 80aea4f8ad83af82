// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// MachineClock: the offset of a time namespace.
#include "machine_clock.hpp"

#include <tenure/errc.hpp>

#include <filesystem>
#include <fstream>
#include <system_error>

namespace tenure::file
{

namespace
{

Failure unknown_clock(std::string const& why)
{
    return Failure::refused(
        errc::wrong_server,
        why + ": the machine's clock is unknown, by which processes of other containers count; mount /proc", true);
}

} // namespace

std::variant<MachineClock, Failure> MachineClock::read(std::string const& proc)
{
    namespace fs = std::filesystem;
    auto const path = proc + "/self/timens_offsets";
    std::error_code error;
    if (!fs::exists(path, error)) {
        // a kernel without time namespaces
        if (fs::exists(proc + "/self/stat", error))
            return MachineClock();
        return unknown_clock(path + " is missing");
    }
    // The file has the offsets of future children, which are those of the process unless it has just changed them.
    auto const own = fs::read_symlink(proc + "/self/ns/time", error);
    if (auto const later = fs::read_symlink(proc + "/self/ns/time_for_children", error); error || own != later)
        return unknown_clock(path + " is that of future children");
    std::ifstream lines(path);
    std::string name;
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    while (lines >> name >> seconds >> nanoseconds)
        if (name == "boottime") {
            MachineClock clock;
            clock.offset_ = seconds * 1'000'000'000 + nanoseconds;
            return clock;
        }
    return unknown_clock(path + " has no line 'boottime'");
}

} // namespace tenure::file
