// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Random requests of three processes for a key with places, and their answers by a model that knows nothing of files.
#include "files/mailbox.hpp"
#include "harness/scratch_directory.hpp"
#include "standing_process.hpp"

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <unistd.h>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

constexpr auto unit = 100ms;
constexpr std::size_t process_count = 3;

/** A place as the rule has it. */
struct Expected {
    std::string owner;
    /// the one that asked for it; `process_count`: no process keeps it alive
    std::size_t process;
    Share share;
    std::uint64_t number;
    std::int64_t lapses;
    /// as of the last request that changed the key
    bool holds = false;
    /// its answer was a grant
    ClaimPtr claim = nullptr;
};

struct PlacesTrial {
    ScratchDirectory directory{ScratchDirectory::Place::memory};
    std::atomic<std::int64_t> clock = 1'000'000'000'000;
    std::array<std::unique_ptr<StandingProcess>, process_count> processes;
    std::array<std::unique_ptr<Watch>, process_count> watches;
    KeyRangePtr range = shared_key("key");
    std::vector<Expected> line;
    std::uint64_t last_number = 0;
    std::mt19937_64 random{Catch::getSeed()};
    unsigned owners = 0;
    /// numbers of places that were promoted by the present request
    std::set<std::uint64_t> promoted;

    PlacesTrial()
    {
        for (std::size_t process = 0; process < process_count; ++process)
            start(process);
    }
    ~PlacesTrial() { move_wall_clock(0s); }
    PlacesTrial(PlacesTrial const&) = delete;
    PlacesTrial& operator=(PlacesTrial const&) = delete;

    void start(std::size_t process)
    {
        processes[process] = std::make_unique<StandingProcess>(directory.path(), clock);
        watches[process] =
            processes[process]->context.watches->watch(file::line_of(*range), WatchAs::waiter, [](WatchNews) {});
    }
    [[nodiscard]] std::size_t one_of(std::size_t count) { return random() % count; }
    [[nodiscard]] std::chrono::milliseconds some_ttl() { return unit * static_cast<int>(1 + one_of(6)); }
    [[nodiscard]] std::int64_t end_in(std::chrono::milliseconds ttl) const
    {
        return clock + std::chrono::nanoseconds(ttl).count();
    }

    // -- the model --

    [[nodiscard]] bool fits_behind(std::size_t count, Share const& share) const
    {
        std::uint64_t sum = share.weight;
        auto least = share.capacity;
        for (std::size_t i = 0; i < count; ++i) {
            sum += line[i].share.weight;
            least = std::min(least, line[i].share.capacity);
        }
        return sum <= least;
    }
    /** A request that changes the key also drops what has lapsed, and lets hold what fits. */
    void settle()
    {
        std::erase_if(line, [this](Expected const& place) { return place.lapses <= clock; });
        for (std::size_t i = 0; i < line.size(); ++i)
            if (!line[i].holds && fits_behind(i, line[i].share)) {
                line[i].holds = true;
                promoted.insert(line[i].number);
            }
    }
    void drop(std::size_t index)
    {
        line.erase(line.begin() + static_cast<std::ptrdiff_t>(index));
        settle();
    }
    [[nodiscard]] std::size_t index_of(std::string const& owner) const
    {
        return static_cast<std::size_t>(std::ranges::find(line, owner, &Expected::owner) - line.begin());
    }

    // -- requests --

    void check_answer(ClaimReply const& reply, std::size_t index)
    {
        auto& place = line[index];
        promoted.erase(place.number); // the answer says it
        if (place.holds) {
            auto const* const granted = std::get_if<Granted>(&reply);
            REQUIRE(granted != nullptr);
            CHECK(granted->fencing_token == place.number);
            auto const claim = std::make_shared<Claim>();
            claim->range = range;
            claim->owner = place.owner;
            claim->handle = granted->handle;
            place.claim = claim;
            return;
        }
        auto const* const busy = std::get_if<Busy>(&reply);
        REQUIRE(busy != nullptr);
        REQUIRE(busy->place);
        CHECK(busy->place->number == place.number);
        CHECK(busy->place->ahead == index);
    }
    void enter(std::size_t process)
    {
        constexpr Share kinds[]{{1, 1}, {1, Share::all}, {Share::all, Share::all}, {1, 3}, {2, 3}, {3, 3}, {2, 4}};
        ClaimRequest request{range,       "worker/" + std::to_string(owners++), some_ttl(), Instant::max(), true,
                             std::nullopt};
        request.share = kinds[one_of(std::size(kinds))];
        request.waits = one_of(4) == 0 ? Waits::no : Waits::in_line;
        move_wall_clock(one_of(8) == 0 ? -1h : 0h);
        auto const reply = processes[process]->claim(request).value();
        settle();
        bool const fits = fits_behind(line.size(), *request.share);
        if (!fits && request.waits == Waits::no) {
            auto const* const busy = std::get_if<Busy>(&reply);
            REQUIRE(busy != nullptr);
            CHECK_FALSE(busy->place);
            return;
        }
        auto const* const granted = std::get_if<Granted>(&reply);
        REQUIRE((granted != nullptr) == fits);
        auto const number = fits ? granted->fencing_token : std::get<Busy>(reply).place.value().number;
        CHECK(number > last_number);
        last_number = number;
        line.push_back({request.owner, process, *request.share, number, end_in(request.ttl), fits});
        check_answer(reply, line.size() - 1);
    }
    void ask_again(Expected const& known)
    {
        ClaimRequest request{range, known.owner, some_ttl(), Instant::max(), true, Instant{}};
        request.share = known.share;
        request.waits = Waits::in_line;
        // also by another store, which takes it over
        auto const process = one_of(8) == 0 ? one_of(process_count) : known.process;
        auto const reply = processes[process]->claim(request).value();
        settle();
        auto const index = index_of(request.owner);
        if (index == line.size()) { // it has lapsed
            auto const* const granted = std::get_if<Granted>(&reply);
            auto const number = granted ? granted->fencing_token : std::get<Busy>(reply).place.value().number;
            CHECK(number > last_number);
            last_number = number;
            bool const fits = fits_behind(line.size(), *request.share);
            line.push_back({request.owner, process, *request.share, number, 0, fits});
        }
        line[index].lapses = end_in(request.ttl);
        line[index].process = process;
        check_answer(reply, index);
    }
    void renew(Expected& known)
    {
        auto const ttl = some_ttl();
        auto const answers =
            file::renew(*processes[known.process]->context.session, {{known.claim, ttl, Instant::max()}});
        bool const lives = known.lapses > clock;
        CHECK(std::holds_alternative<Renewed>(answers[0].reply) == lives);
        if (lives)
            known.lapses = end_in(ttl);
    }
    void release(Expected const& known)
    {
        auto const owner = known.owner;
        bool const lives = known.lapses > clock;
        bool const keeps = one_of(4) == 0;
        ReleaseRequest request{known.claim, Instant::max(), true};
        if (keeps)
            request.keep_for = 2 * unit;
        auto const reply = file::release(processes[known.process]->context, request);
        CHECK(std::holds_alternative<Released>(reply) == lives);
        if (!keeps && !lives)
            return; // nothing has been locked
        settle();
        if (!lives)
            return;
        auto const index = index_of(owner);
        if (keeps) {
            line[index].owner = "kept/" + owner;
            line[index].process = process_count;
            line[index].claim = nullptr;
            line[index].lapses = end_in(2 * unit);
        } else {
            drop(index);
        }
    }
    void withdraw(std::string const& owner)
    {
        auto const reply =
            file::withdraw(processes[one_of(process_count)]->context, {range, owner, Instant::max(), true, 0ms});
        CHECK(std::holds_alternative<Released>(reply));
        settle();
        if (auto const index = index_of(owner); index < line.size())
            drop(index);
    }
    void evict(std::string const& owner)
    {
        auto const reply =
            file::evict(processes[one_of(process_count)]->context, {range, 0, owner, "operator", Instant::max()});
        settle();
        auto const index = index_of(owner);
        bool const found = index < line.size() && !owner.starts_with("kept/");
        REQUIRE(std::holds_alternative<Evicted>(reply) == found);
        if (!found)
            return;
        if (line[index].holds) {
            line[index].owner = "evicted/operator";
            line[index].claim = nullptr;
        } else {
            drop(index);
        }
    }
    void kill(std::size_t process)
    {
        std::erase_if(line, [&](Expected const& place) { return place.process == process; });
        // its descriptors close, and its files stay
        processes[process]->context.session->closed = true;
        processes[process].reset();
        start(process);
    }

    // -- what must be true after each request --

    void check_news()
    {
        std::set<std::uint64_t> heard;
        for (auto const& process : processes) {
            std::array<Message, 256> messages;
            auto const bytes =
                ::read(process->context.session->holder->fifo.number(), messages.data(), sizeof(messages));
            for (std::size_t i = 0; i < static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)) / sizeof(Message); ++i)
                if (messages[i].number != 0)
                    heard.insert(messages[i].number);
        }
        CHECK(heard == promoted);
        promoted.clear();
    }
    void check_state()
    {
        auto const reply = file::inspect(processes[0]->context, range);
        auto const& state = std::get<std::vector<KeyState>>(reply).at(0);
        std::vector<Place> expected;
        for (auto const& place : line)
            if (place.lapses > clock) {
                auto const left =
                    std::chrono::ceil<std::chrono::milliseconds>(std::chrono::nanoseconds(place.lapses - clock));
                expected.push_back({place.owner, place.share.weight, place.share.capacity, place.number, left, false});
            }
        std::uint64_t sum = 0;
        auto least = Share::all;
        for (auto& place : expected) {
            sum += place.weight;
            least = std::min(least, place.capacity);
            place.holds = sum <= least;
        }
        CHECK(state.places == expected);
        CHECK((state.kind == KeyState::Kind::free) == expected.empty());
    }

    void step()
    {
        auto const choice = one_of(16);
        auto const some = line.empty() ? 0 : one_of(line.size());
        bool const is_own =
            !line.empty() && line[some].process < process_count && !line[some].owner.starts_with("evicted/");
        if (choice < 5 || line.empty())
            enter(one_of(process_count));
        else if (choice < 8 && is_own)
            ask_again(Expected(line[some]));
        else if (choice < 10 && line[some].claim)
            renew(line[some]);
        else if (choice < 12 && line[some].claim)
            release(Expected(line[some]));
        else if (choice == 12 && is_own)
            withdraw(std::string(line[some].owner));
        else if (choice == 13)
            evict(std::string(line[some].owner));
        else if (choice == 14)
            clock += static_cast<std::int64_t>(one_of(3)) * std::chrono::nanoseconds(unit).count();
        else if (one_of(4) == 0)
            kill(one_of(process_count));
    }
};

} // namespace

TEST_CASE("random requests for places are answered as the rule says", "[places]")
{
    INFO("seed " << Catch::getSeed());
    PlacesTrial trial;
    for (int step = 0; step < 6000; ++step) {
        trial.step();
        trial.check_news();
        trial.check_state();
    }
}

TEST_CASE("numbers of places and tokens of plain claims rise together, also with the wall clock set back", "[places]")
{
    ScratchDirectory const directory{ScratchDirectory::Place::memory};
    std::atomic<std::int64_t> const clock = 1'000'000'000'000;
    StandingProcess const process(directory.path(), clock);
    std::uint64_t last = 0;
    for (int turn = 0; turn < 6; ++turn) {
        move_wall_clock(-1h * turn);
        bool const is_plain = turn % 2 == 0;
        ClaimRequest request{
            is_plain ? named_key("key") : shared_key("key"), "worker/1", unit, Instant::max(), true, std::nullopt};
        if (!is_plain)
            request.share = Share{};
        auto const granted = std::get<Granted>(process.claim(request).value());
        CHECK(granted.fencing_token > last);
        last = granted.fencing_token;
        CHECK(std::holds_alternative<Released>(
            file::withdraw(process.context, {request.range, "worker/1", Instant::max(), true, 0ms})));
    }
    move_wall_clock(0s);
}

TEST_CASE("a key has places or a plain claim, and only a place that holds is renewed", "[places]")
{
    ScratchDirectory const directory{ScratchDirectory::Place::memory};
    std::atomic<std::int64_t> const clock = 1'000'000'000'000;
    StandingProcess const process(directory.path(), clock);
    ClaimRequest plain{named_key("key"), "worker/1", unit, Instant::max(), true, std::nullopt};
    ClaimRequest place{shared_key("key"), "worker/2", unit, Instant::max(), true, std::nullopt};
    place.share = Share{};
    place.waits = Waits::in_line;
    REQUIRE(std::holds_alternative<Granted>(process.claim(plain).value()));
    CHECK_FALSE(std::get<Busy>(process.claim(place).value()).place);
    REQUIRE(std::holds_alternative<Released>(
        file::withdraw(process.context, {plain.range, plain.owner, Instant::max(), true, 0ms})));
    REQUIRE(std::holds_alternative<Granted>(process.claim(place).value()));
    CHECK(std::get<Busy>(process.claim(plain).value()).earliest_expiry == unit);
    // a person who evicts knows the key alone
    EvictRequest const eviction{plain.range, 0, place.owner, "operator", Instant::max()};
    CHECK(std::holds_alternative<NotOwner>(
        file::evict(process.context, {plain.range, 0, plain.owner, "operator", Instant::max()})));
    CHECK(std::holds_alternative<Evicted>(file::evict(process.context, eviction)));
    CHECK(std::holds_alternative<NotOwner>(file::evict(process.context, eviction)));
    place.owner = "worker/3";
    auto const waiting = std::get<Busy>(process.claim(place).value()).place.value();
    auto const claim = std::make_shared<Claim>();
    claim->range = place.range;
    claim->owner = place.owner;
    claim->handle = waiting.handle;
    auto const answers = file::renew(*process.context.session, {{claim, unit, Instant::max()}});
    CHECK(std::holds_alternative<NotOwner>(answers[0].reply));
}

TEST_CASE("an eviction and a withdrawal of a shared key find its plain claim", "[places]")
{
    ScratchDirectory const directory{ScratchDirectory::Place::memory};
    std::atomic<std::int64_t> const clock = 1'000'000'000'000;
    StandingProcess const process(directory.path(), clock);
    std::string const owner = "worker/1";
    for (auto const* const key : {"evicted", "withdrawn"})
        REQUIRE(std::holds_alternative<Granted>(process.claim(named_key(key), owner, unit).value()));
    CHECK(std::holds_alternative<Evicted>(
        file::evict(process.context, {shared_key("evicted"), 0, owner, "operator", Instant::max()})));
    auto const states = file::inspect(process.context, named_key("evicted"));
    CHECK(std::get<std::vector<KeyState>>(states).at(0).owner == "evicted/operator");
    CHECK(std::holds_alternative<Released>(
        file::withdraw(process.context, {shared_key("withdrawn"), owner, Instant::max(), true, 0ms})));
    CHECK(std::holds_alternative<Granted>(process.claim(named_key("withdrawn"), "worker/2", unit).value()));
}

} // namespace tenure::test
