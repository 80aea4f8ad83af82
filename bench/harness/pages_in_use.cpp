// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/pages_in_use.hpp"

#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <ios>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace bench
{

namespace
{

using namespace std::chrono_literals;

constexpr auto pause = 20ms;

/** Reads a byte of each page of one range of addresses. */
void read_pages(pid_t process, std::uintptr_t begin, std::uintptr_t end)
{
    static auto const page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    // as many as a call takes
    std::array<iovec, 1024> bytes{};
    std::array<char, 1024> read{};
    iovec const to{read.data(), read.size()};
    while (begin < end) {
        std::size_t count = 0;
        for (; count < bytes.size() && begin < end; begin += page)
            bytes[count++] = {reinterpret_cast<void*>(begin), 1};
        // a page that was unmapped meanwhile needs no reading
        (void)::process_vm_readv(process, &to, 1, bytes.data(), count, 0);
    }
}

void read_pages(pid_t process)
{
    // reserved, but mostly not mapped: the arenas of threads
    constexpr std::uintptr_t large = 64U << 20;
    std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
    for (std::string line; std::getline(maps, line);) {
        std::istringstream fields(line);
        std::uintptr_t begin = 0;
        std::uintptr_t end = 0;
        char dash = 0;
        std::string access;
        fields >> std::hex >> begin >> dash >> end >> access;
        bool const is_heap = line.ends_with("[heap]");
        if (fields && access.starts_with('r') && (is_heap || end - begin < large))
            read_pages(process, begin, end);
    }
}

Child read_pages_of_this_process()
{
    auto const process = ::getpid();
    // all pages that the program has mapped count as resident from the start
    read_pages(process);
    Child reader(Place::same, [process]() -> std::vector<double> {
        for (;;) {
            read_pages(process);
            std::this_thread::sleep_for(pause);
        }
    });
    // where a process may otherwise not read the memory of its parent; without that the figure is the machine's
    ::prctl(PR_SET_PTRACER, reader.id(), 0, 0, 0);
    return reader;
}

} // namespace

PagesInUse::PagesInUse()
    : reader_(read_pages_of_this_process())
{
}

} // namespace bench
