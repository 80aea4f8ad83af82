// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// replay CORPUS: plays every stored input of every fuzz target once. A target that finds a defect aborts.
#define LLVMFuzzerTestOneInput fuzz_connection
#include "connection.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_owner
#include "owner.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_replies
#include "replies.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_resp
#include "resp.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_url
#include "url.cpp"
#undef LLVMFuzzerTestOneInput

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace
{

using Target = int (*)(std::uint8_t const*, std::size_t);

void play(std::filesystem::path const& folder, Target target)
{
    std::size_t played = 0;
    for (auto const& entry : std::filesystem::directory_iterator(folder)) {
        // the last line before a crash names the input
        std::cout << entry.path().string() << std::endl;
        std::ifstream file(entry.path(), std::ios::binary);
        std::vector<char> const bytes{std::istreambuf_iterator<char>(file), {}};
        std::vector<std::uint8_t> const data(bytes.begin(), bytes.end());
        target(data.data(), data.size());
        ++played;
    }
    if (played == 0)
        throw std::runtime_error(folder.string() + " has no inputs");
}

} // namespace

int main(int count, char** arguments)
try {
    if (count != 2)
        throw std::runtime_error("usage: replay CORPUS");
    std::pair<char const*, Target> const targets[]{
        {"connection", fuzz_connection},
        {"owner", fuzz_owner},
        {"replies", fuzz_replies},
        {"resp", fuzz_resp},
        {"url", fuzz_url}};
    for (auto const& [name, target] : targets)
        play(std::filesystem::path(arguments[1]) / name, target);
    return 0;
} catch (std::exception const& error) {
    std::cerr << "replay: " << error.what() << "\n";
    return 1;
}
