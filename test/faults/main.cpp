// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "options.hpp"
#include "run.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>

namespace
{

constexpr int skipped = 4;

/** Uses memory for scratch files, unless the environment names a directory: an fsync of the server must not wait for a
 * disk. */
void choose_scratch_space()
{
    std::error_code ignored;
    if (std::filesystem::is_directory("/dev/shm", ignored))
        ::setenv("TMPDIR", "/dev/shm", 0);
}

std::string scheme_names()
{
    std::string names;
    for (auto const& scheme : tenure::faults::schemes())
        names.append(names.empty() ? "" : ", ").append(scheme.name);
    return names;
}

} // namespace

int main(int count, char** arguments)
try {
    using namespace tenure::faults;
    auto const options = read_options(count, arguments);
    if (options.help) {
        std::cout << usage() << "Schemes: " << scheme_names() << "\n";
        return 0;
    }
    auto const scheme = std::ranges::find(schemes(), options.store, &Scheme::name);
    if (scheme == schemes().end())
        throw std::invalid_argument("--store " + options.store + ": no such scheme, there are " + scheme_names());
    if (auto const missing = scheme->missing(); !missing.empty()) {
        std::cout << "skipped: " << missing << "\n";
        return skipped;
    }
    choose_scratch_space();
    return run(options, *scheme);
} catch (tenure::faults::Unsupported const& error) {
    std::cout << "skipped: " << error.what() << "\n";
    return skipped;
} catch (std::invalid_argument const& error) {
    std::cerr << "tenure_faults: " << error.what() << "\n";
    return 2;
} catch (std::exception const& error) {
    std::cerr << "tenure_faults: " << error.what() << "\n";
    return 3;
}
