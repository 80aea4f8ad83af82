// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "fleet/cases.hpp"
#include "fleet/options.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace tenure::fleet
{

namespace
{

constexpr int skipped = 4;

constexpr std::array all_cases{
    Case{"restart", "10,000 leases; all servers are killed and started again", true, false, run_restart},
    Case{"burst", "10,000 acquisitions at once beside 1,000 held leases", false, false, run_burst},
    Case{"waiters", "20,000 waiters on 100 keys", false, false, run_waiters},
    Case{"reconnect", "10,000 leases and 2,000 waiters; all connections are cut at once", true, true, run_reconnect},
    Case{
        "death", "10,000 leases of a client that dies; afterwards all servers are killed and started again", true,
        false, run_death}};

/** Uses memory for scratch files, unless the environment names a directory: a server's fsync must not wait for a
 * disk. */
void choose_scratch_space()
{
    std::error_code ignored;
    if (std::filesystem::is_directory("/dev/shm", ignored))
        ::setenv("TMPDIR", "/dev/shm", 0);
}

Row run_one(StoreKind const& kind, Case const& chosen, Options const& options)
{
    auto const servers = kind.start(chosen.proxied);
    auto row = chosen.run(*servers, options.size);
    row.store = options.label.empty() ? std::string{kind.name} : options.label;
    row.name = chosen.name;
    print_row(std::cout, row);
    print_breaches(std::cout, row);
    return row;
}

int run(Options const& options)
{
    std::vector<Row> rows;
    for (auto const& kind : store_kinds()) {
        if (!options.store.empty() && options.store != kind.name)
            continue;
        if (auto const missing = kind.missing(); !missing.empty()) {
            std::cout << "skipped: " << kind.name << ": " << missing << std::endl;
            continue;
        }
        for (auto const& each : cases())
            if ((options.name.empty() || options.name == each.name) && (kind.has_servers || !each.needs_servers)) {
                if (rows.empty())
                    print_header(std::cout);
                rows.push_back(run_one(kind, each, options));
            }
    }
    if (rows.empty())
        return skipped;
    if (rows.size() > 1) {
        std::cout << "\n";
        print_header(std::cout);
        for (auto const& row : rows)
            print_row(std::cout, row);
    }
    return std::ranges::all_of(rows, [](Row const& row) { return row.breaches.empty(); }) ? 0 : 1;
}

} // namespace

std::span<Case const> cases()
{
    return all_cases;
}

} // namespace tenure::fleet

int main(int count, char** arguments)
try {
    using namespace tenure::fleet;
    auto const options = read_options(count, arguments);
    if (options.help) {
        std::cout << usage();
        return 0;
    }
    choose_scratch_space();
    return run(options);
} catch (std::invalid_argument const& error) {
    std::cerr << "tenure_fleet: " << error.what() << "\n";
    return 2;
} catch (std::exception const& error) {
    std::cerr << "tenure_fleet: " << error.what() << "\n";
    return 3;
}
