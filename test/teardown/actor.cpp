// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "round.hpp"

#include "harness/immovable.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <tuple>
#include <utility>
#include <variant>

namespace tenure::teardown
{

namespace asio = boost::asio;

namespace
{

using namespace boost::asio::experimental::awaitable_operators;
using namespace std::chrono_literals;

constexpr auto awaited = asio::as_tuple(asio::use_awaitable);

/** A slot that is entered and left; it leaves in time however it goes. */
class Held : test::Immovable
{
public:
    explicit Held(Round& round)
        : round_(round)
    {
    }
    ~Held() { drop(); }

    [[nodiscard]] explicit operator bool() const noexcept { return !slot_.empty(); }
    [[nodiscard]] Slot& slot() noexcept { return slot_; }

    void set(Slot slot)
    {
        drop();
        slot_ = std::move(slot);
        if (slot_.empty())
            return;
        ++round_.grants;
        if (!slot_.valid())
            round_.fail("a slot that was just granted is not valid");
        round_.enter(slot_.id());
    }
    /** Leaves it, and hands it over. */
    [[nodiscard]] Slot take()
    {
        if (!slot_.empty())
            round_.leave(slot_.id());
        return std::exchange(slot_, Slot{});
    }
    void drop() { static_cast<void>(take()); }

private:
    Round& round_;
    Slot slot_;
};

class Actor
{
public:
    Actor(asio::execution_context& context, Round& round, Store store, std::uint64_t seed, EndOfRound end)
        : context_(context)
        , round_(round)
        , store_(std::move(store))
        , random_(seed)
        , end_(end)
        , held_(round)
    {
    }

    static asio::awaitable<void> run(Actor& actor)
    {
        Alive const alive{actor.round_};
        asio::steady_timer timer{co_await asio::this_coro::executor};
        while (!actor.round_.ended()) {
            if (actor.round_.is_the_end()) {
                actor.end_(actor.context_, actor.round_, actor.store_);
                break;
            }
            if (actor.held_)
                co_await actor.use(timer);
            else
                co_await actor.get(timer);
        }
        actor.held_.drop();
    }

private:
    [[nodiscard]] std::chrono::microseconds moment() { return std::chrono::microseconds{random_.below(1500)}; }

    asio::awaitable<void> get(asio::steady_timer& timer)
    {
        auto const pool = round_.pool(store_);
        AcquireOptions const options{.wait = std::chrono::milliseconds{random_.below(5)}, .ttl = 0ms};
        switch (random_.below(6)) {
        case 0:
        case 1: {
            auto result = co_await pool.async_acquire(options, awaited);
            held_.set(std::move(std::get<1>(result)));
            break;
        }
        case 2: {
            auto result = co_await pool.async_try_acquire(awaited);
            held_.set(std::move(std::get<1>(result)).value_or(Slot()));
            break;
        }
        case 3: {
            // cancelled on its way, or not
            timer.expires_after(moment());
            auto result = co_await (pool.async_acquire(AcquireOptions{1s}, awaited) || timer.async_wait(awaited));
            if (auto* const acquired = std::get_if<0>(&result))
                held_.set(std::move(std::get<1>(*acquired)));
            else
                ++round_.cancelled;
            break;
        }
        case 4:
            call_back(pool, options);
            break;
        default:
            co_await look(timer);
        }
    }

    /** An acquisition without a waiting coroutine: its handler is called, or destroyed with the context. */
    void call_back(SlotPool const& pool, AcquireOptions const& options)
    {
        ++round_.begun;
        bool const keeps = random_.below(3) == 0;
        pool.async_acquire(options, [&round = round_, alive = Alive{round_}, keeps](error_code, Slot slot) {
            ++round.called;
            if (!slot.empty() && keeps)
                round.keep(std::move(slot));
        });
    }

    asio::awaitable<void> look(asio::steady_timer& timer)
    {
        auto const range = round_.pool(store_).range();
        if (random_.below(2) == 0) {
            co_await store_.async_inspect(range, awaited);
            co_return;
        }
        // the other store is gone before its answer is there
        auto const other = open_store(store_.get_executor(), round_.plan().url, round_.store_options());
        timer.expires_after(moment() / 4);
        co_await (other.async_inspect(range, awaited) || timer.async_wait(awaited));
    }

    asio::awaitable<void> use(asio::steady_timer& timer)
    {
        timer.expires_after(moment());
        switch (random_.below(8)) {
        case 0: {
            auto slot = held_.take();
            co_await slot.async_release(awaited);
            break;
        }
        case 1:
            held_.drop();
            break;
        case 2:
            co_await (held_.slot().token().async_wait(awaited) || timer.async_wait(awaited));
            break;
        case 3:
            co_await (held_.slot().async_renew(awaited) || timer.async_wait(awaited));
            break;
        case 4: {
            auto slot = held_.take();
            co_await (slot.async_release(awaited) || timer.async_wait(awaited));
            break;
        }
        case 5:
            co_await work(timer);
            break;
        case 6:
            round_.keep(held_.take());
            break;
        default: {
            std::stop_callback const called{held_.slot().token().stop_token(), [alive = Alive{round_}] {}};
            co_await timer.async_wait(awaited);
        }
        }
    }

    /** Work under the lease that ends well, throws, or is cancelled by its caller. */
    asio::awaitable<void> work(asio::steady_timer& timer)
    {
        bool const throws = random_.below(2) == 0;
        auto const time = moment();
        auto body = [this, throws, time](Slot& slot) { return occupied(round_, slot, time, throws); };
        auto slot = held_.take();
        auto result = co_await (async_with_lease(std::move(slot), body, awaited) || timer.async_wait(awaited));
        if (auto* const ended = std::get_if<0>(&result); ended != nullptr && !throws && std::get<0>(*ended))
            round_.fail("work that ended well is told to have failed");
    }

    static asio::awaitable<void> occupied(Round& round, Slot& slot, std::chrono::microseconds time, bool throws)
    {
        Alive const alive{round};
        if (!slot.valid())
            round.fail("work began under a lease that is not valid");
        asio::steady_timer timer{co_await asio::this_coro::executor, time};
        co_await timer.async_wait(asio::use_awaitable);
        if (throws)
            throw Thrown{};
    }

    asio::execution_context& context_;
    Round& round_;
    Store store_;
    Random random_;
    EndOfRound end_;
    Held held_;
};

} // namespace

asio::awaitable<void>
act(asio::execution_context& context, Round& round, Store store, std::uint64_t seed, EndOfRound end)
{
    Actor actor{context, round, std::move(store), seed, end};
    co_await Actor::run(actor);
}

} // namespace tenure::teardown
