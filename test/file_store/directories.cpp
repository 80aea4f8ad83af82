// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Directories and files: what is refused, and what happens when they are damaged, deleted or replaced.
#include "files/machine_clock.hpp"
#include "forked.hpp"
#include "harness/scratch_directory.hpp"
#include "store/file/directory.hpp"
#include "store/file/layout.hpp"
#include "system_calls.hpp"

#include <tenure/conformance/expect.hpp>
#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tenure::test
{

using namespace conformance;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace
{

constexpr auto in_memory = ScratchDirectory::Place::memory;

/** Work in a process of its own, which may change what it has mounted.
 *  @param work  returns whether all was well; unset where it may not mount */
void check_in_child(std::function<std::optional<bool>()> const& work)
{
    constexpr int skipped = 4;
    auto const child = ::fork();
    if (child == 0) {
        try {
            auto const well = work();
            ::_exit(!well ? skipped : *well ? 0 : 1);
        } catch (std::exception const& error) {
            std::cerr << error.what() << '\n';
        }
        ::_exit(1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WEXITSTATUS(status) == skipped)
        SKIP("may not mount");
    CHECK(status == 0);
}

std::vector<fs::path> files_in(fs::path const& directory)
{
    std::vector<fs::path> files;
    for (auto const& entry : fs::recursive_directory_iterator(directory))
        if (!entry.is_directory())
            files.push_back(entry.path());
    return files;
}

fs::path range_file(fs::path const& directory)
{
    for (auto const& file : files_in(directory))
        if (file.parent_path().filename() == "ranges")
            return file;
    return {};
}

ClaimPtr take(Client& client, KeyRangePtr const& range, unsigned number)
{
    return claim_of(range, owner(number), expect<Granted>(client.claim(range, owner(number))));
}

} // namespace

TEST_CASE("a deleted directory is noticed by the next renewal, and tokens rise in the next one", "[directory]")
{
    ScratchDirectory const scratch{in_memory};
    auto const path = scratch.file("locks");
    auto const client = client_of(path);
    auto const range = named_key("lock");
    auto const claim = take(*client, range, 1);
    SECTION("deleted")
    {
        fs::remove_all(path);
    }
    SECTION("replaced")
    {
        fs::rename(path, scratch.file("elsewhere"));
        fs::create_directory(path);
    }
    SECTION("only the holder file")
    {
        for (auto const& file : files_in(path))
            if (file.parent_path().filename() == "holders")
                fs::remove(file);
    }
    SECTION("only the range file")
    {
        fs::remove(range_file(path));
    }
    expect<NotOwner>(client->renew(claim, 5s));
    auto reply = client->claim(range, owner(2));
    if (std::holds_alternative<Failure>(reply))
        reply = client->claim(range, owner(2));
    CHECK(expect<Granted>(reply).fencing_token > claim->fencing_token);
}

TEST_CASE("a claim in a directory that was replaced fails and says so", "[directory]")
{
    ScratchDirectory const scratch{in_memory};
    auto const path = scratch.file("locks");
    auto const client = client_of(path);
    static_cast<void>(take(*client, named_key("lock"), 1));
    fs::rename(path, scratch.file("elsewhere"));
    auto const failure = expect<Failure>(client->claim(named_key("other"), owner(2)));
    CHECK(failure.error == errc::wrong_server);
    CHECK(failure.detail.find("deleted or replaced") != std::string::npos);
    expect<Granted>(client->claim(named_key("other"), owner(2)));
}

TEST_CASE("a store that holds nothing tells of a deleted directory once, and goes on in a new one", "[directory]")
{
    ScratchDirectory const scratch{in_memory};
    auto const path = scratch.file("locks");
    auto const client = client_of(path);
    expect<Released>(client->release(take(*client, named_key("lock"), 1)));
    fs::remove_all(path);
    CHECK(expect<Failure>(client->claim(named_key("other"), owner(2))).error == errc::wrong_server);
    expect<Granted>(client->claim(named_key("other"), owner(2)));
}

TEST_CASE("a place where no directory can be made is refused at once", "[directory]")
{
    ScratchDirectory const scratch{in_memory};
    std::ofstream(scratch.file("file")) << "no directory";
    auto const* const name = GENERATE("missing/locks", "file/locks", "file");
    auto const failure = expect<Failure>(client_of(scratch.file(name))->claim(named_key("lock"), owner(1)));
    CHECK(failure.fatal);
    CHECK(failure.detail.find(scratch.file(name)) != std::string::npos);
}

TEST_CASE("a watch goes on in the directory that takes the place of a lost one", "[directory]")
{
    ScratchDirectory const scratch{in_memory};
    auto const path = scratch.file("locks");
    auto const client = client_of(path);
    auto const range = named_key("lock");
    std::vector<WatchEvent> events;
    std::unique_ptr<Watch> watch;
    auto const heard = [&](WatchEvent event) {
        client->run_until([&] { return std::ranges::find(events, event) != events.end(); });
        events.clear();
    };
    client->on_strand([&] {
        watch = client->backend().watch(range, WatchAs::observer, [&](WatchEvent event) { events.push_back(event); });
    });
    heard(WatchEvent::in_force);
    fs::rename(path, scratch.file("elsewhere"));
    expect<Failure>(client->claim(named_key("other"), owner(1)));
    expect<Granted>(client->claim(named_key("other"), owner(1)));
    heard(WatchEvent::in_force);
    auto const holder = client_of(path);
    expect<Released>(holder->release(take(*holder, range, 2)));
    heard(WatchEvent::hint);
    client->on_strand([&] { watch.reset(); });
    CHECK(client->idle());
}

TEST_CASE("a torn copy of a record is passed over, and the older one counts", "[format]")
{
    ScratchDirectory const scratch{in_memory};
    auto const client = client_of(scratch.path());
    auto const range = named_key("lock");
    auto const claim = take(*client, range, 1);
    expect<Evicted>(client->evict(range, 0, owner(1)));
    auto const file = Descriptor(::open(range_file(scratch.path()).c_str(), O_RDWR | O_CLOEXEC));
    auto const offset = file::Segment::record_at(0);
    auto const pair = file.read<file::RecordPair>(offset);
    REQUIRE(file::current(pair).value() == "evicted/operator");
    auto const newer = &file::current(pair) == pair.data() ? 0 : 1;
    // half of what another process was about to write
    file.write(offset + newer * static_cast<std::int64_t>(sizeof(file::Record)) + 60, std::uint64_t{77});
    expect<Renewed>(client->renew(claim, 5s));
    expect<Released>(client->release(claim));
}

TEST_CASE("a range file that was cleared away is not locked by those who have it open", "[sweep]")
{
    ScratchDirectory const scratch{in_memory};
    auto const range = named_key("lock");
    auto const first = client_of(scratch.path());
    expect<Released>(first->release(take(*first, range, 1)));
    // it was not used for a long time
    timespec const times[2]{{1000, 0}, {1000, 0}};
    REQUIRE(::utimensat(AT_FDCWD, range_file(scratch.path()).c_str(), times, 0) == 0);
    auto const second = client_of(scratch.path());
    static_cast<void>(take(*second, named_key("other"), 2)); // each claim clears a little away
    for (int claims = 0; claims < 4; ++claims)
        static_cast<void>(second->claim(named_key("other"), owner(3)));
    auto const held = take(*second, range, 4);
    expect<Busy>(first->claim(range, owner(5)));
    expect<Renewed>(second->renew(held, 5s));
}

TEST_CASE("files of holders that have ended are cleared away", "[sweep]")
{
    ScratchDirectory const scratch{in_memory};
    {
        Forked dead(scratch.path(), [](Client& client) -> std::int64_t {
            static_cast<void>(client.claim(named_key("lock"), owner(1)));
            ::raise(SIGKILL);
            return 0;
        });
        static_cast<void>(dead.result());
    }
    auto const client = client_of(scratch.path());
    auto const holders = [&] {
        int count = 0;
        for (auto const& file : files_in(scratch.path()))
            count += file.parent_path().filename() == "holders" ? 1 : 0;
        return count;
    };
    static_cast<void>(take(*client, named_key("lock"), 2));
    // the dead one's file stays until the end of its ttl
    CHECK(holders() == 2);
}

TEST_CASE("an area is unlocked, and no other area of the file", "[format]")
{
    ScratchDirectory const scratch{in_memory};
    auto const open = [&] {
        return Descriptor(::open(scratch.file("file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    };
    auto const one = open();
    auto const other = open();
    auto const first = file::Segment{}.area();
    auto const second = file::Segment{{}, 1}.area();
    REQUIRE(one.try_lock(first));
    REQUIRE(one.try_lock(second));
    CHECK_FALSE(other.try_lock(second));
    one.unlock(first);
    CHECK(other.try_lock(first));
    CHECK_FALSE(other.try_lock(second));
}

TEST_CASE("a release names its own claim, and not the next one in the same cell", "[release]")
{
    ScratchDirectory const scratch{in_memory};
    auto const client = client_of(scratch.path());
    auto const range = named_key("lock");
    auto const first = take(*client, range, 1);
    expect<Released>(client->release(first));
    auto const second = take(*client, range, 2);
    expect<NotOwner>(client->release(first));
    auto const other = client_of(scratch.path());
    expect<Busy>(other->claim(range, owner(3)));
    expect<Renewed>(client->renew(second, 5s));
}

TEST_CASE("files have the access rights of the directory, whatever the umask", "[directory]")
{
    ScratchDirectory const scratch{in_memory};
    auto const mode = GENERATE(0700U, 01777U);
    REQUIRE(::chmod(scratch.path().c_str(), mode) == 0);
    auto const umask_before = ::umask(0777);
    auto const client = client_of(scratch.path());
    auto const reply = client->claim(named_key("lock"), owner(1));
    ::umask(umask_before);
    expect<Granted>(reply);
    for (auto const& file : files_in(scratch.path())) {
        struct stat found{};
        REQUIRE(::stat(file.c_str(), &found) == 0);
        CHECK((found.st_mode & 0777) == (mode & 0666));
    }
}

TEST_CASE("a directory that any user may change is refused", "[directory]")
{
    ScratchDirectory const scratch{in_memory};
    REQUIRE(::chmod(scratch.path().c_str(), 0777) == 0);
    auto const client = client_of(scratch.path());
    auto const failure = expect<Failure>(client->claim(named_key("lock"), owner(1)));
    CHECK(failure.error == errc::permission_denied);
    CHECK(failure.fatal);
    CHECK(failure.detail.find("chmod") != std::string::npos);
}

TEST_CASE("a file system whose locks are unknown is refused by name, unless the config allows it", "[directory]")
{
    auto const why = [](FileConfig const& config) {
        try {
            file::Directory const directory(config);
            return Failure::dropped();
        } catch (std::exception const& error) {
            return file::failure_of(error);
        }
    };
    auto const refused = why({"/proc"});
    CHECK(refused.error == errc::wrong_server);
    CHECK(refused.fatal);
    CHECK(refused.detail.find("file system 0x9fa0") != std::string::npos);
    auto const allowed = why({"/proc", true});
    CHECK(allowed.error); // nothing can be made there
    CHECK(allowed.detail.find("file system") == std::string::npos);
}

TEST_CASE("the offset of a time namespace is taken off", "[clock]")
{
    ScratchDirectory const scratch;
    fs::create_directories(scratch.file("self/ns"));
    fs::create_symlink("time:[1]", scratch.file("self/ns/time"));
    fs::create_symlink("time:[1]", scratch.file("self/ns/time_for_children"));
    std::ofstream(scratch.file("self/timens_offsets"))
        << "monotonic           5         0\nboottime        86400       500\n";
    auto const day = std::chrono::nanoseconds(24h).count();
    CHECK(MachineClock(scratch.path()).at(Instant(2 * 24h)) == day - 500);
    fs::remove(scratch.file("self/ns/time_for_children"));
    CHECK_THROWS_AS(MachineClock(scratch.path()), std::runtime_error);
    CHECK_THROWS_AS(MachineClock(scratch.file("nothing")), std::runtime_error);
}

TEST_CASE("a full file system refuses new keys, and costs no lease", "[full]")
{
    ScratchDirectory const scratch;
    check_in_child([&]() -> std::optional<bool> {
        auto const path = scratch.file("small");
        bool const mounted = ::mkdir(path.c_str(), 0700) == 0 && ::unshare(CLONE_NEWNS) == 0 &&
                             ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                             ::mount("tmpfs", path.c_str(), "tmpfs", 0, "size=300k,mode=0700") == 0;
        if (!mounted)
            return std::nullopt;
        auto const client = client_of(path);
        auto const range = numbered_keys("pool:", 1024);
        std::vector<ClaimPtr> held;
        for (;;) {
            auto const number = static_cast<unsigned>(held.size());
            auto const reply = client->claim(range, owner(number));
            if (auto const* const failure = std::get_if<Failure>(&reply)) {
                if (failure->error != errc::store_refused)
                    throw std::runtime_error(failure->detail);
                break;
            }
            held.push_back(claim_of(range, owner(number), expect<Granted>(reply)));
        }
        for (auto const& claim : held)
            expect<Renewed>(client->renew(claim, 10s));
        for (auto const& claim : held)
            expect<Released>(client->release(claim));
        // their records are still there
        for (unsigned number = 0; number < held.size(); ++number)
            expect<Granted>(client->claim(range, owner(number + 2000)));
        return held.size() > 50;
    });
}

TEST_CASE("a process that sees another boot ID is refused while others use the directory", "[directory]")
{
    ScratchDirectory const scratch{in_memory};
    std::ofstream(scratch.file("id")) << "00000000-0000-4000-8000-000000000000\n";
    auto const path = scratch.file("store");
    check_in_child([&]() -> std::optional<bool> {
        auto const range = named_key("lock");
        auto before = client_of(path);
        auto const held = take(*before, range, 1);
        bool const mounted =
            ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
            ::mount(scratch.file("id").c_str(), "/proc/sys/kernel/random/boot_id", nullptr, MS_BIND, nullptr) == 0;
        if (!mounted)
            return std::nullopt;
        auto const refusal = expect<Failure>(client_of(path)->claim(range, owner(2)));
        bool const told =
            refusal.error == errc::wrong_server && refusal.fatal && refusal.detail.find("boot_id") != std::string::npos;
        expect<Renewed>(before->renew(held, 10s));
        before.reset();
        // its keys are kept until their end, although its store is closed
        bool const kept = !expect<Failure>(client_of(path)->claim(range, owner(2))).detail.empty();
        return told && kept;
    });
    // no process is left that sees the other ID: as after a boot, its folder is deleted
    auto const folders = [&] { return std::distance(fs::directory_iterator(path), fs::directory_iterator()); };
    CHECK(folders() == 2);
    auto const after = client_of(path);
    expect<Granted>(after->claim(named_key("lock"), owner(3)));
    CHECK(folders() == 1);
}

TEST_CASE("tokens rise and leases live on when the wall clock is set back or ahead", "[clock]")
{
    ScratchDirectory const scratch{in_memory};
    auto const client = client_of(scratch.path());
    auto const range = named_key("lock");
    std::uint64_t last = 0;
    for (auto const offset : {0h, -24h, 24h, -48h}) {
        move_wall_clock(offset);
        auto const claim = take(*client, range, 1);
        CHECK(claim->fencing_token > last);
        last = claim->fencing_token;
        move_wall_clock(offset + 1h);
        expect<Renewed>(client->renew(claim, 5s));
        expect<Busy>(client->claim(range, owner(2)));
        expect<Released>(client->release(claim));
    }
    move_wall_clock(0h);
}

} // namespace tenure::test
