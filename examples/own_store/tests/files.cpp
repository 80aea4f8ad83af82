// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Features of this store only: files that are not records, records of another boot, and a lock that is held for long.
#include "directory_lock.hpp"
#include "scratch_directory.hpp"

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

using namespace tenure;
using namespace tenure::backend;
using namespace tenure::conformance;
using namespace own_store;
using own_store::test::ScratchDirectory;
using namespace std::chrono_literals;

TEST_CASE("a file that is no record is passed over, shown as foreign and left alone")
{
    ScratchDirectory const directory;
    directory.write("pool:0", "notes of somebody\n");
    auto const client = directory.client();
    CHECK(expect<Granted>(client->claim(numbered_keys("pool:", 2), owner(1))).index == 1);
    CHECK(expect<Busy>(client->claim(named_key("pool:0"), owner(1))).never_frees);
    auto const states = expect<std::vector<KeyState>>(client->inspect(named_key("pool:0")));
    CHECK(states.at(0).kind == KeyState::Kind::foreign);
    CHECK(directory.read("pool:0") == "notes of somebody\n");
}

TEST_CASE("a key that was held when the machine stopped is free a whole lifetime after it was seen again")
{
    ScratchDirectory const directory;
    auto const client = directory.client();
    auto const range = named_key("lock");
    Record record;
    record.token = 7;
    record.owner = owner(1);
    // by the clock of that boot it would be free in an hour
    record.expire_after(1h, Clock::now());
    record.lifetime = 300ms;
    auto text = to_text(record);
    auto const boot = text.find(' ', text.find(' ') + 1) + 1;
    text.replace(boot, text.find(' ', boot) - boot, "another-boot");
    directory.write("lock", text);

    auto const seen = client->now();
    expect<Busy>(client->claim(range, owner(2)));
    std::optional<Granted> granted;
    client->run_until(
        [&] {
            auto const reply = client->claim(range, owner(2));
            if (auto const* const grant = std::get_if<Granted>(&reply))
                granted = *grant;
            return granted.has_value();
        },
        2s);
    CHECK(client->now() - seen >= 300ms);
    CHECK(granted->fencing_token == 8);
}

TEST_CASE("an error is no proof that the lease is lost")
{
    ScratchDirectory const directory;
    auto const client = directory.client();
    auto const range = named_key("lock");
    auto const claim = claim_of(range, owner(1), expect<Granted>(client->claim(range, owner(1))));
    std::filesystem::remove(directory.file_of("lock"));
    std::filesystem::create_directory(directory.file_of("lock"));
    auto const reply = client->renew(claim, 5s);
    auto const& failure = expect_refused(reply);
    CHECK(failure.error == errc::store_refused);
    CHECK(failure.detail == "cannot read " + directory.file_of("lock").string() + ": Is a directory");
}

TEST_CASE("while another process keeps the directory locked nothing is sent, and later all is well")
{
    ScratchDirectory const directory;
    auto const client = directory.client();
    auto const range = named_key("lock");
    auto const claim = claim_of(range, owner(1), expect<Granted>(client->claim(range, owner(1))));
    {
        std::atomic<bool> const closed{false};
        DirectoryLock const lock(directory.path(), Deadline(Instant::max()), closed);
        auto const reply = client->renew(claim, 5s);
        CHECK(expect_not_sent(reply).error == errc::store_unavailable);
        auto request = ClaimRequest{range, owner(2), 5s, client->now() + 20ms, true, std::nullopt};
        CHECK(expect_not_sent(client->claim(request)).was_dropped());
    }
    expect<Renewed>(client->renew(claim, 5s));
}
