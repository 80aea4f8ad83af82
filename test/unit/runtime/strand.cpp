// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "runtime/names.hpp"

#include <tenure/backend/strand.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/defer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace
{

namespace asio = boost::asio;
using tenure::Strand;

static_assert(asio::is_executor<Strand>::value || asio::execution::is_executor<Strand>::value);

struct StrandLoop {
    asio::io_context context;
    Strand strand{asio::any_io_executor(context.get_executor())};
    std::vector<int> called;

    [[nodiscard]] auto note(int number)
    {
        return [this, number] { called.push_back(number); };
    }
};

/** Refuses what it is given, if it is told to: there is no memory, or no thread. */
struct ScarceExecutor {
    template <class Function>
    void execute(Function function) const
    {
        if (*throws)
            throw std::bad_alloc();
        asio::require(context->get_executor(), asio::execution::blocking.never).execute(std::move(function));
    }
    asio::execution_context& query(asio::execution::context_t) const noexcept { return *context; }
    static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept
    {
        return asio::execution::blocking_t::never;
    }
    [[nodiscard]] ScarceExecutor require(asio::execution::blocking_t::never_t) const noexcept { return *this; }
    friend bool operator==(ScarceExecutor const& left, ScarceExecutor const& right) noexcept
    {
        return left.context == right.context;
    }

    asio::io_context* context;
    bool* throws;
};

} // namespace

TEST_CASE("a strand runs functions of many threads one at a time, those of each in their order", "[strand]")
{
    constexpr int threads = 4;
    constexpr int each = 5000;
    asio::thread_pool pool(threads);
    Strand const strand{asio::any_io_executor(pool.get_executor())};
    std::atomic<bool> inside = false;
    bool overlapped = false;
    std::vector<std::vector<int>> seen(threads);
    auto const work = [&](int thread, int number) {
        return [&, thread, number] {
            overlapped = overlapped || inside.exchange(true);
            seen[static_cast<std::size_t>(thread)].push_back(number);
            inside = false;
        };
    };
    {
        std::vector<std::jthread> users;
        for (int thread = 0; thread < threads; ++thread)
            users.emplace_back([&, thread] {
                for (int number = 0; number < each; ++number)
                    if (number % 2 == 0)
                        strand.execute(work(thread, number));
                    else
                        asio::post(strand, work(thread, number));
            });
    }
    pool.join();
    CHECK_FALSE(overlapped);
    for (auto const& numbers : seen) {
        REQUIRE(numbers.size() == each);
        CHECK(std::ranges::is_sorted(numbers));
    }
}

TEST_CASE("within the strand a function is called at once, and a posted one after its caller", "[strand]")
{
    StrandLoop loop;
    loop.strand.post([&] {
        CHECK(loop.strand.running_in_this_thread());
        loop.strand.execute([&] {
            loop.called.push_back(1);
            loop.strand.execute(loop.note(2));
        });
        loop.strand.post(loop.note(4));
        asio::dispatch(loop.strand, loop.note(3));
        CHECK(loop.called == std::vector{1, 2, 3});
    });
    CHECK(loop.called.empty());
    CHECK_FALSE(loop.strand.running_in_this_thread());
    loop.context.run();
    CHECK(loop.called == std::vector{1, 2, 3, 4});
}

TEST_CASE("a handler of its context enters the strand at once, unless it is taken", "[strand]")
{
    StrandLoop loop;
    asio::io_context other;
    Strand const elsewhere{asio::any_io_executor(other.get_executor())};
    bool caught = false;
    asio::post(loop.context, [&] {
        loop.strand.execute(loop.note(1));
        CHECK(loop.called == std::vector{1});
        // to the caller, not to the thread that runs the context
        try {
            loop.strand.execute([] { throw std::runtime_error("at once"); });
        } catch (std::runtime_error const&) {
            caught = true;
        }
        CHECK_FALSE(loop.strand.running_in_this_thread());
        elsewhere.execute(loop.note(4));
        loop.strand.post(loop.note(2));
        loop.strand.execute(loop.note(3));
        CHECK(loop.called == std::vector{1});
    });
    loop.context.run();
    CHECK(caught);
    CHECK(loop.called == std::vector{1, 2, 3});
    other.run();
    CHECK(loop.called == std::vector{1, 2, 3, 4});
}

TEST_CASE("a strand of an executor that never blocks runs nothing within the call", "[strand]")
{
    asio::io_context context;
    Strand const strand{asio::any_io_executor(asio::require(context.get_executor(), asio::execution::blocking.never))};
    bool called = false;
    asio::post(context, [&] {
        strand.execute([&] { called = true; });
        CHECK_FALSE(called);
    });
    context.run();
    CHECK(called);
}

TEST_CASE("work posted while the queue is run waits for the next turn of the loop", "[strand]")
{
    StrandLoop loop;
    loop.strand.post([&] {
        loop.strand.post(loop.note(3));
        asio::post(loop.context, loop.note(2));
        loop.called.push_back(1);
    });
    loop.context.run_one();
    CHECK(loop.called == std::vector{1});
    loop.context.run();
    CHECK(std::ranges::count(loop.called, 2) == 1);
    CHECK(std::ranges::count(loop.called, 3) == 1);
}

TEST_CASE("a function that throws leaves the strand to those behind it", "[strand]")
{
    StrandLoop loop;
    loop.strand.post(loop.note(1));
    loop.strand.post([] { throw std::runtime_error("queued"); });
    loop.strand.post(loop.note(2));
    CHECK_THROWS_AS(loop.context.run(), std::runtime_error);
    CHECK(loop.called == std::vector{1});
    CHECK_FALSE(loop.strand.running_in_this_thread());
    loop.context.restart();
    loop.context.run();
    CHECK(loop.called == std::vector{1, 2});
}

TEST_CASE("work queued when the context ends is destroyed, though it owns the strand or queues more", "[strand]")
{
    std::weak_ptr<int> left;
    int called = 0;
    {
        auto const token = std::make_shared<int>(1);
        left = token;
        std::optional<Strand> outliving;
        struct Again {
            Strand strand;
            std::shared_ptr<int> token;
            int* called;
            ~Again()
            {
                if (token)
                    strand.post([token = token, called = called] { ++*called; });
            }
            Again(Strand const& where, std::shared_ptr<int> what, int* how_often)
                : strand(where)
                , token(std::move(what))
                , called(how_often)
            {
            }
            Again(Again&&) = default;
            void operator()() { ++*called; }
        };
        {
            asio::io_context context;
            Strand const strand{asio::any_io_executor(context.get_executor())};
            outliving.emplace(strand);
            strand.post([strand, token, &called] { ++called; });
            strand.post(Again(strand, token, &called));
        }
        CHECK(token.use_count() == 1);
    }
    CHECK(called == 0);
    CHECK(left.expired());
}

TEST_CASE("an executor that throws leaves the strand free, and what it was given is destroyed", "[strand]")
{
    asio::io_context context;
    bool throws = false;
    Strand const strand{asio::any_io_executor(ScarceExecutor{&context, &throws})};
    auto const token = std::make_shared<int>(1);
    int called = 0;
    bool const at_once = GENERATE(true, false);
    auto const give = [&] {
        auto function = [token, &called] { ++called; };
        if (at_once)
            strand.execute(std::move(function));
        else
            strand.post(std::move(function));
    };
    throws = true;
    CHECK_THROWS_AS(give(), std::bad_alloc);
    CHECK(token.use_count() == 1);
    throws = false;
    give();
    context.run();
    CHECK(called == 1);
}

TEST_CASE("a function may be all that keeps its strand", "[strand]")
{
    asio::io_context context;
    auto strand = std::make_unique<Strand>(asio::any_io_executor(context.get_executor()));
    bool called = false;
    auto const& here = *strand;
    here.post([strand = std::move(strand), &called]() mutable {
        strand.reset();
        called = true;
    });
    context.run();
    CHECK(called);
}

TEST_CASE("the strand serves as an executor of Asio", "[strand]")
{
    StrandLoop loop;
    Strand const copy = loop.strand;
    CHECK(copy == loop.strand);
    CHECK(copy != Strand(asio::any_io_executor(loop.context.get_executor())));
    CHECK(&asio::query(copy, asio::execution::context) == &loop.context);
    CHECK(asio::query(copy, asio::execution::blocking) == asio::execution::blocking.possibly);
    auto const posting = asio::require(copy, asio::execution::blocking.never);
    CHECK(asio::query(posting, asio::execution::blocking) == asio::execution::blocking.never);
    CHECK(posting == copy);
    CHECK(asio::require(posting, asio::execution::blocking.possibly) == copy);

    bool on_strand = false;
    asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, Strand> timer(
        loop.strand, std::chrono::milliseconds(1));
    timer.async_wait([&](boost::system::error_code) { on_strand = loop.strand.running_in_this_thread(); });
    asio::steady_timer other(loop.context, std::chrono::milliseconds(1));
    bool bound_on_strand = false;
    other.async_wait(asio::bind_executor(
        loop.strand, [&](boost::system::error_code) { bound_on_strand = loop.strand.running_in_this_thread(); }));
    loop.strand.execute([&] {
        posting.execute(loop.note(2));
        asio::defer(loop.strand, loop.note(3));
        loop.called.push_back(1);
    });
    loop.context.run();
    CHECK(on_strand);
    CHECK(bound_on_strand);
    CHECK(loop.called == std::vector{1, 2, 3});
}
