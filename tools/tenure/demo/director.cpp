// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "demo/director.hpp"

#include "command_line/exit_code.hpp"
#include "keys/holder.hpp"
#include "keys/loop.hpp"
#include "keys/store_error.hpp"
#include "output/table.hpp"
#include "output/time_text.hpp"

#include <iostream>
#include <utility>

namespace tenure::tool
{

namespace asio = boost::asio;

namespace
{

using std::chrono::milliseconds;
using Doing = DemoBoard::Doing;

constexpr milliseconds between_looks{100};
/// extra time of an act beyond the time of the leases
constexpr milliseconds slack{1'000};
/// how long after its planned end a demo waits for what it has not seen yet
constexpr milliseconds overtime{10'000};

} // namespace

DemoDirector::DemoDirector(
    DemoSettings const& settings, Store store, KeyRangePtr range, DemoBoard& board, DemoCrew& crew, DemoView& view)
    : settings_(settings)
    , store_(std::move(store))
    , range_(std::move(range))
    , board_(board)
    , crew_(crew)
    , view_(view)
{
}

asio::awaitable<int> DemoDirector::run()
{
    begin();
    while (!stopped_ && !over()) {
        auto const seen = co_await look();
        if (seen)
            co_await play();
        co_await pause_for(between_looks);
    }
    co_await dismiss_crew();
    co_return judge();
}

void DemoDirector::begin()
{
    view_.event(
        std::to_string(settings_.workers) + " workers, " + crew_.describe() + ", share " + range_->describe() + " on " +
        store_.describe());
    crew_.start();
}

asio::awaitable<bool> DemoDirector::look()
{
    auto result = co_await store_.async_inspect(range_, as_result);
    if (auto const error = std::get<0>(result)) {
        if (auto text = explain(store_, error); std::exchange(trouble_, text) != text)
            view_.event(std::move(text));
        // without a store there is no demo
        if (states_.empty())
            fail(explain(store_, error));
        co_return false;
    }
    states_ = std::move(std::get<1>(result));
    trouble_.clear();
    view_.look(states_);
    co_return true;
}

asio::awaitable<void> DemoDirector::play()
{
    auto const total = milliseconds{settings_.duration};
    switch (act_) {
    case Act::opening:
        if (clock_.elapsed() >= total / 4) {
            // so that it surely works under a slot when the blow falls
            board_.worker(settings_.victim()).works_on = true;
            enter(Act::killing);
        }
        break;
    case Act::killing:
        kill();
        break;
    case Act::lapsing:
        follow_lapse();
        break;
    case Act::pausing:
        pause();
        break;
    case Act::outlasting:
        follow_pause();
        break;
    case Act::contending:
        if (clock_.elapsed() >= total * 6 / 10)
            enter(Act::evicting);
        break;
    case Act::evicting:
        co_await evict();
        break;
    case Act::waking:
    case Act::losing:
        follow_loss();
        break;
    case Act::closing:
        break;
    }
}

void DemoDirector::kill()
{
    auto& victim = board_.worker(settings_.victim());
    if (victim.doing != Doing::working)
        return;
    slot_ = victim.slot;
    // it works on until the signal, and then its claim does not count
    if (settings_.frees_at_death())
        board_.leave(slot_, settings_.victim());
    crew_.kill_victim();
    victim.doing = Doing::killed;
    view_.event(
        demo_worker_name(settings_.victim()) + " was killed while it held slot " + std::to_string(slot_) +
        (settings_.frees_at_death()
             ? ": its process held the key, which is free now"
             : ": no process renews or releases it, so it expires within " + tool::describe(settings_.ttl)));
    enter(Act::lapsing);
}

void DemoDirector::follow_lapse()
{
    auto const name = holder_name(slot_);
    if (name != demo_worker_name(settings_.victim())) {
        view_.event(
            "slot " + std::to_string(slot_) + (name.empty() ? " is free again" : " is held again, by " + name) + ", " +
            tool::describe(act_clock_.elapsed()) + " after the kill");
        enter(crew_.can_pause() ? Act::pausing : Act::contending);
    } else if (act_clock_.elapsed() > settings_.ttl + slack) {
        fail(
            "slot " + std::to_string(slot_) + " was still held by the killed worker after " +
            tool::describe(act_clock_.elapsed()));
        enter(Act::contending);
    }
}

std::optional<std::uint32_t> DemoDirector::choose_loser()
{
    for (std::uint32_t index = 0; index < settings_.victim(); ++index) {
        auto& worker = board_.worker(index);
        if (worker.doing != Doing::working)
            continue;
        losses_before_ = worker.losses;
        // it will not give the slot back before its token is cancelled
        worker.works_on = true;
        slot_ = worker.slot;
        if (worker.doing == Doing::working && holder_name(slot_) == demo_worker_name(index))
            return index;
        worker.works_on = false;
    }
    return std::nullopt;
}

void DemoDirector::pause()
{
    auto const chosen = choose_loser();
    if (!chosen)
        return;
    auto& worker = board_.worker(*chosen);
    crew_.pause(*chosen);
    // unless it was giving the slot back
    auto expected = Doing::working;
    if (!worker.doing.compare_exchange_strong(expected, Doing::paused)) {
        worker.works_on = false;
        crew_.resume(*chosen);
        return;
    }
    loser_ = *chosen;
    view_.event(
        demo_worker_name(loser_) + " was paused (SIGSTOP) while it held slot " + std::to_string(slot_) +
        ": it cannot renew, so the slot is free within " + tool::describe(settings_.ttl));
    enter(Act::outlasting);
}

void DemoDirector::follow_pause()
{
    auto const name = holder_name(slot_);
    bool const freed = name != demo_worker_name(loser_);
    if (!freed && act_clock_.elapsed() <= settings_.ttl + slack)
        return;
    auto const after = tool::describe(act_clock_.elapsed());
    if (!freed)
        fail("slot " + std::to_string(slot_) + " was still held by the paused worker after " + after);
    else
        view_.event(
            "slot " + std::to_string(slot_) + (name.empty() ? " is free again" : " is held again, by " + name) + ", " +
            after + " after the pause began; " + demo_worker_name(loser_) + " goes on now");
    crew_.resume(loser_);
    enter(Act::waking);
}

asio::awaitable<void> DemoDirector::evict()
{
    auto const chosen = choose_loser();
    if (!chosen)
        co_return;
    auto const result = co_await store_.async_evict(states_.at(slot_), "demo", as_result);
    if (std::get<0>(result)) {
        // it gave the slot back in the meantime
        board_.worker(*chosen).works_on = false;
        co_return;
    }
    loser_ = *chosen;
    view_.event(
        demo_worker_name(loser_) + " was evicted from slot " + std::to_string(slot_) +
        ": its token is cancelled at the next renewal, and the slot is free in " + tool::describe(std::get<1>(result)));
    enter(Act::losing);
}

void DemoDirector::follow_loss()
{
    bool const woken = act_ == Act::waking;
    auto const next = woken ? Act::contending : Act::closing;
    if (board_.worker(loser_).losses > losses_before_) {
        view_.event(
            demo_worker_name(loser_) + (woken ? " stopped its work " : " stopped ") +
            tool::describe(act_clock_.elapsed()) +
            (woken ? " after it woke up: its lease was over"
                   : " after its eviction from slot " + std::to_string(slot_)));
        enter(next);
    } else if (act_clock_.elapsed() > settings_.ttl + slack) {
        fail(demo_worker_name(loser_) + " did not learn of its loss within " + tool::describe(act_clock_.elapsed()));
        board_.worker(loser_).works_on = false;
        enter(next);
    }
}

asio::awaitable<void> DemoDirector::dismiss_crew()
{
    board_.close();
    if (act_ == Act::outlasting)
        crew_.resume(loser_);
    auto const end = std::chrono::steady_clock::now() + settings_.ttl + 5 * slack;
    while (!crew_.ended()) {
        if (std::chrono::steady_clock::now() > end) {
            fail("not all workers ended when the demo was over");
            co_return;
        }
        co_await pause_for(between_looks / 5);
    }
    auto const seen = co_await look();
    if (seen)
        check_all_released();
}

void DemoDirector::check_all_released()
{
    for (auto const& state : states_) {
        auto const kind = holder_of(state).kind;
        if (kind != Holder::Kind::nobody && kind != Holder::Kind::evicted &&
            holder_name(state.index) != demo_worker_name(settings_.victim()))
            fail("slot " + std::to_string(state.index) + " is still held after all workers have ended");
    }
}

bool DemoDirector::over() const
{
    auto const planned = milliseconds{settings_.duration};
    if (!failures_.empty() && states_.empty())
        return true;
    return clock_.elapsed() >= planned &&
           ((act_ == Act::closing && everyone_had_a_slot()) || clock_.elapsed() >= planned + overtime);
}

bool DemoDirector::everyone_had_a_slot() const
{
    for (std::uint32_t index = 0; index < settings_.workers; ++index)
        if (board_.worker(index).slots_had == 0)
            return false;
    return true;
}

int DemoDirector::judge()
{
    Table table({"WORKER", "SLOTS IT HAD", "TURNS", "LEASES LOST", ""}, settings_.color);
    for (std::uint32_t index = 0; index < settings_.workers; ++index) {
        auto const& worker = board_.worker(index);
        std::string slots;
        for (std::uint32_t slot = 0; slot < settings_.slots; ++slot)
            if ((worker.slots_had >> slot & 1) != 0)
                slots += (slots.empty() ? "" : " ") + std::to_string(slot);
        if (slots.empty() && !stopped_)
            failures_.push_back(demo_worker_name(index) + " never had a slot");
        table.add(
            {demo_worker_name(index),
             slots.empty() ? "none" : slots,
             std::to_string(worker.turns),
             std::to_string(worker.losses),
             {worker.doing == Doing::killed ? "killed" : "", Style::bad}});
    }
    if (board_.collisions() != 0)
        failures_.push_back(
            std::to_string(board_.collisions()) + " times a slot was held by two workers at the same time");
    if (board_.disorders() != 0)
        failures_.push_back(
            std::to_string(board_.disorders()) + " times a fencing token was not greater than the last");
    if (act_ != Act::closing && !stopped_)
        failures_.emplace_back("the demo did not come to its end in time");
    view_.end();
    print_verdict(table);
    return failures_.empty() ? success : attention;
}

void DemoDirector::print_verdict(Table const& workers) const
{
    std::cout << '\n' << workers.text() << '\n';
    for (auto const& failure : failures_)
        std::cout << styled("FAILED: " + failure, Style::bad, settings_.color) << '\n';
    if (failures_.empty())
        std::cout << styled("No slot was ever held by two workers.", Style::good, settings_.color) << '\n'
                  << styled("Every fencing token was greater than the one before.", Style::good, settings_.color)
                  << '\n';
    std::cout << std::flush;
}

void DemoDirector::fail(std::string text)
{
    view_.event("FAILED: " + text);
    failures_.push_back(std::move(text));
}

void DemoDirector::enter(Act act)
{
    act_ = act;
    act_clock_ = DemoClock();
}

std::string DemoDirector::holder_name(std::uint32_t slot) const
{
    auto const holder = holder_of(states_.at(slot));
    return holder.kind == Holder::Kind::nobody ? std::string{} : tool::describe(holder);
}

} // namespace tenure::tool
