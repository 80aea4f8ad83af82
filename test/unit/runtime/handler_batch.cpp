// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "runtime/handler_batch.hpp"

#include "runtime/asio_runtime.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <stdexcept>
#include <vector>

namespace
{

using tenure::HandlerBatch;
using tenure::Task;

struct BatchLoop {
    boost::asio::io_context context;
    std::shared_ptr<tenure::Runtime> runtime = tenure::engine::make_asio_runtime(context.get_executor(), {});
    std::vector<int> called;

    [[nodiscard]] Task handler(int number)
    {
        return [this, number] { called.push_back(number); };
    }
    [[nodiscard]] bool take(int number)
    {
        Task task = handler(number);
        return HandlerBatch::take(task);
    }
};

struct Later final : tenure::Afterthought {
    explicit Later(BatchLoop& of)
        : loop(of)
    {
    }
    void come() override
    {
        on_strand = loop.runtime->strand().running_in_this_thread();
        loop.called.push_back(100);
    }

    BatchLoop& loop;
    bool on_strand = false;
};

} // namespace

TEST_CASE("outside a batch handlers are not taken")
{
    BatchLoop loop;
    CHECK_FALSE(loop.take(1));
}

TEST_CASE("the only handler of a batch is called by run, and what becomes ready meanwhile is not taken")
{
    BatchLoop loop;
    bool called = false;
    bool taken = true;
    {
        HandlerBatch batch(*loop.runtime);
        Task only = [&] {
            called = true;
            taken = loop.take(2);
        };
        CHECK(HandlerBatch::take(only));
        CHECK_FALSE(called);
        batch.run();
        CHECK(called);
        CHECK_FALSE(taken);
    }
    loop.context.run();
    CHECK(loop.called.empty());
}

TEST_CASE("several handlers of a batch are posted, so that none waits for another's work")
{
    BatchLoop loop;
    {
        HandlerBatch batch(*loop.runtime);
        CHECK(loop.take(1));
        CHECK(loop.take(2));
        batch.run();
        CHECK(loop.called.empty());
    }
    loop.context.run();
    CHECK(loop.called == std::vector{1, 2});
}

TEST_CASE("a batch that is left by an exception posts what it took")
{
    BatchLoop loop;
    try {
        HandlerBatch batch(*loop.runtime);
        CHECK(loop.take(1));
        throw std::runtime_error("on the strand");
    } catch (std::runtime_error const&) {
        CHECK(loop.called.empty());
    }
    CHECK_FALSE(loop.take(2));
    loop.context.run();
    CHECK(loop.called == std::vector{1});
}

TEST_CASE("an exception of the handler is its caller's, and ends the batch")
{
    BatchLoop loop;
    {
        HandlerBatch batch(*loop.runtime);
        Task only = [] { throw std::runtime_error("a user's"); };
        CHECK(HandlerBatch::take(only));
        CHECK_THROWS_AS(batch.run(), std::runtime_error);
    }
    CHECK_FALSE(loop.take(1));
}

TEST_CASE("an afterthought comes on the strand when the only handler was called")
{
    BatchLoop loop;
    auto const later = std::make_shared<Later>(loop);
    boost::asio::post(loop.context, [&] {
        HandlerBatch batch(*loop.runtime);
        CHECK_FALSE(HandlerBatch::put_off(*loop.runtime, later));
        CHECK(loop.take(1));
        CHECK(HandlerBatch::put_off(*loop.runtime, later));
        CHECK_FALSE(HandlerBatch::put_off(*loop.runtime, std::make_shared<Later>(loop)));
        batch.run();
        CHECK(loop.called == std::vector{1});
    });
    loop.context.run();
    CHECK(loop.called == std::vector{1, 100});
    CHECK(later->on_strand);
    CHECK(later.use_count() == 1);
}

TEST_CASE("an afterthought comes also where the handler throws, and where it was not the only one")
{
    BatchLoop loop;
    auto const later = std::make_shared<Later>(loop);
    bool const throws = GENERATE(false, true);
    boost::asio::post(loop.context, [&] {
        HandlerBatch batch(*loop.runtime);
        Task first = [&] {
            if (throws)
                throw std::runtime_error("a user's");
            loop.called.push_back(1);
        };
        CHECK(HandlerBatch::take(first));
        CHECK(HandlerBatch::put_off(*loop.runtime, later));
        if (!throws)
            CHECK(loop.take(2));
        batch.run();
    });
    if (throws) {
        CHECK_THROWS_AS(loop.context.run(), std::runtime_error);
        CHECK(loop.called == std::vector{100});
    } else {
        loop.context.run();
        CHECK(loop.called == std::vector{100, 1, 2});
    }
}

TEST_CASE("an afterthought that is forgotten does not come")
{
    BatchLoop loop;
    auto const later = std::make_shared<Later>(loop);
    auto const other = std::make_shared<Later>(loop);
    boost::asio::post(loop.context, [&] {
        HandlerBatch::forget(*later);
        HandlerBatch batch(*loop.runtime);
        Task only = [&] {
            HandlerBatch::forget(*other);
            HandlerBatch::forget(*later);
        };
        CHECK(HandlerBatch::take(only));
        CHECK(HandlerBatch::put_off(*loop.runtime, later));
        batch.run();
    });
    loop.context.run();
    CHECK(loop.called.empty());
    CHECK(later.use_count() == 1);
}

TEST_CASE("an afterthought is not put off where several handlers are ready")
{
    BatchLoop loop;
    boost::asio::post(loop.context, [&] {
        HandlerBatch batch(*loop.runtime);
        CHECK(loop.take(1));
        CHECK(loop.take(2));
        CHECK_FALSE(HandlerBatch::put_off(*loop.runtime, std::make_shared<Later>(loop)));
        batch.run();
    });
    loop.context.run();
    CHECK(loop.called == std::vector{1, 2});
}

TEST_CASE("an afterthought of another runtime is not put off")
{
    BatchLoop loop;
    auto const other = tenure::engine::make_asio_runtime(loop.context.get_executor(), {});
    HandlerBatch batch(*loop.runtime);
    CHECK(loop.take(1));
    CHECK_FALSE(HandlerBatch::put_off(*other, std::make_shared<Later>(loop)));
}

TEST_CASE("an afterthought does not come in a fork that the handler made")
{
    BatchLoop loop;
    auto const later = std::make_shared<Later>(loop);
    pid_t child = -1;
    boost::asio::post(loop.context, [&] {
        {
            HandlerBatch batch(*loop.runtime);
            Task only = [&] { child = ::fork(); };
            if (HandlerBatch::take(only) && HandlerBatch::put_off(*loop.runtime, later))
                batch.run();
        }
        if (child == 0)
            ::_exit(loop.called.empty() ? 0 : 1);
    });
    loop.context.run();
    REQUIRE(child > 0);
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(loop.called == std::vector{100});
}
