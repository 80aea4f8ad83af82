// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"

#include <tenure/backend/runtime.hpp>
#include <tenure/conformance/subject.hpp>
#include <tenure/store.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace tenure::test
{

namespace asio = boost::asio;

/** Programs that use the subject's store through the public classes, each with a store of its own. They share one event
 * loop, which runs only inside of these functions. */
class Programs : Immovable
{
public:
    /** Background work that is still pending has two seconds. After a failed check the handlers refer to variables of
     * the test that are gone: they are destroyed uncalled. */
    ~Programs()
    {
        if (std::uncaught_exceptions() == exceptions_)
            run_for(std::chrono::seconds{2});
    }

    [[nodiscard]] conformance::Subject const& subject() const noexcept { return *subject_; }
    [[nodiscard]] std::string key(std::string const& name) const { return subject_->prefix() + name; }

    [[nodiscard]] Store open(std::string worker_name)
    {
        auto runtime = backend::make_runtime(context_.get_executor());
        auto backend = subject_->connect(runtime);
        no_detach_ = backend->capabilities().no_detach;
        no_shares_ = backend->capabilities().no_shares;
        return {std::move(runtime), std::move(backend), StoreOptions{.worker_name = std::move(worker_name)}};
    }

    /** As `Capabilities::no_detach`, of the store that was opened last. */
    [[nodiscard]] char const* no_detach() const noexcept { return no_detach_; }
    /** As `Capabilities::no_shares`, of the store that was opened last. */
    [[nodiscard]] char const* no_shares() const noexcept { return no_shares_; }

    /** Runs the loop until the condition holds. @throws std::runtime_error if it does not within the limit */
    void run_until(std::function<bool()> const& condition, std::chrono::milliseconds limit = std::chrono::seconds{20})
    {
        auto const end = std::chrono::steady_clock::now() + limit;
        while (!condition()) {
            if (std::chrono::steady_clock::now() >= end)
                throw std::runtime_error("what was waited for did not happen in time");
            run_for(std::chrono::milliseconds{5});
        }
    }
    void run_for(std::chrono::milliseconds duration)
    {
        context_.restart();
        context_.run_for(duration);
    }

private:
    std::unique_ptr<conformance::Subject> subject_ = conformance::make_subject();
    asio::io_context context_;
    char const* no_detach_ = nullptr;
    char const* no_shares_ = nullptr;
    int exceptions_ = std::uncaught_exceptions();
};

/** The last member of an object whose handlers may come when it is destroyed: `guard` skips those. */
class Lifetime
{
public:
    template <class Handler>
    [[nodiscard]] auto guard(Handler handler) const
    {
        return [weak = std::weak_ptr<int>(alive_),
                handler = std::move(handler)]<class... Arguments>(Arguments&&... arguments) mutable {
            if (!weak.expired())
                handler(std::forward<Arguments>(arguments)...);
        };
    }

private:
    std::shared_ptr<int> alive_ = std::make_shared<int>();
};

} // namespace tenure::test
