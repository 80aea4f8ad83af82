// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Contends for one key with the locks of another program, and judges the marks of all.
//   tenure_contention PEER SECONDS [MUTANT]     with a mutant: fails unless two hold the key at the same time, tokens
//   fall, or, with a
//                                               peer that only disturbs, a contender ends
#include "marks.hpp"
#include "peers.hpp"

#include "harness/child_process.hpp"
#include "harness/paths.hpp"
#include "harness/scratch_directory.hpp"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

using namespace tenure::contention;
using tenure::test::ChildProcess;
using tenure::test::Command;

constexpr int skipped = 4;

int contend(std::string const& peer_name, std::chrono::seconds time, std::string const& mutant)
{
    auto const peer = make_peer(peer_name);
    tenure::test::ScratchDirectory const directory;
    auto const marks = directory.file("marks");
    auto const program = tenure::test::test_program(mutant == "none" ? "contender" : "contender_mutants");
    std::vector<ChildProcess> contenders;
    for (auto const& kind : peer->kinds())
        contenders.emplace_back(Command{
            {program, peer->url(), "nightly", kind, marks, kind + "-" + std::to_string(contenders.size()), mutant}});
    try {
        peer->contend("nightly", marks, time);
    } catch (std::runtime_error const&) {
        if (mutant == "none")
            throw; // else the two orders may wait for each other
    }
    bool ended = false;
    for (auto& contender : contenders)
        ended = !contender.running() || ended;

    auto const verdict = judge(marks);
    bool const takes_part = !peer->name().empty();
    bool starved = verdict.grants.size() < peer->kinds().size() + (takes_part ? 1 : 0);
    std::size_t theirs = 0;
    for (auto const& [name, grants] : verdict.grants) {
        std::cout << name << ": " << grants << " grants\n";
        starved = starved || grants < 5;
        theirs += takes_part && name.starts_with(peer->name()) ? grants : 0;
    }
    starved = starved || (takes_part && theirs == 0);
    std::cout << "two holders: " << verdict.double_holdings << ", readers together: " << verdict.readers_together
              << "\n"
              << "tokens out of order: " << verdict.tokens_out_of_order << "\n"
              << verdict.examples;
    bool const broken = verdict.double_holdings + verdict.tokens_out_of_order > 0;
    if (mutant != "none") // beside another program they may wait for each other in any case
        return broken || (!takes_part && (ended || starved)) ? 0 : 1;
    if (ended)
        std::cout << "a contender has ended\n";
    if (starved)
        std::cout << "not all have made progress\n";
    return broken || ended || starved ? 1 : 0;
}

} // namespace

int main(int count, char** argument)
try {
    if (count < 3 || count > 4)
        throw std::invalid_argument("tenure_contention PEER SECONDS [MUTANT]");
    std::error_code ignored;
    if (std::filesystem::is_directory("/dev/shm", ignored))
        ::setenv("TMPDIR", "/dev/shm", 0); // an fsync of the server must not wait for a disk
    return contend(argument[1], std::chrono::seconds{std::stoi(argument[2])}, count == 4 ? argument[3] : "none");
} catch (Missing const& missing) {
    std::cout << "skipped: " << missing.what << "\n";
    return skipped;
} catch (std::exception const& error) {
    std::cerr << "tenure_contention: " << error.what() << "\n";
    return 2;
}
