// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// MachineClock: the offset of a time namespace.
#include "machine_clock.hpp"

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace tenure
{

MachineClock::MachineClock(std::string const& proc)
{
    namespace fs = std::filesystem;
    auto const path = proc + "/self/timens_offsets";
    std::error_code error;
    bool const exists = fs::exists(path, error);
    if (!exists && fs::exists(proc + "/self/stat", error))
        return; // a kernel without time namespaces
    // The file has the offsets of future children, which are those of the process unless it has just changed them.
    auto const own = fs::read_symlink(proc + "/self/ns/time", error);
    bool const is_own = own == fs::read_symlink(proc + "/self/ns/time_for_children", error) && !error;
    std::ifstream lines(path);
    std::string name;
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    while (is_own && lines >> name >> seconds >> nanoseconds)
        if (name == "boottime") {
            offset_ = seconds * 1'000'000'000 + nanoseconds;
            return;
        }
    throw std::runtime_error(
        path + (exists ? " is that of future children" : " is missing") +
        ": the machine's clock is unknown, by which processes of other containers count; mount /proc");
}

} // namespace tenure
