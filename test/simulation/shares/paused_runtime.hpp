// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <testing/virtual_time.hpp>

#include <tenure/backend/runtime.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

namespace tenure::simulation
{

/** The runtime of a process in virtual time that may stand still: meanwhile nothing of it runs. */
class PausedRuntime final : public Runtime, public std::enable_shared_from_this<PausedRuntime>
{
public:
    PausedRuntime(testing::VirtualTime& time, std::uint64_t seed)
        : inner_(testing::make_runtime(time, seed))
    {
    }

    void stand_still() { paused_ = true; }
    void go_on()
    {
        paused_ = false;
        run_held();
    }
    [[nodiscard]] bool paused() const noexcept { return paused_; }

    [[nodiscard]] Instant now() const noexcept override { return inner_->now(); }
    [[nodiscard]] std::chrono::sys_seconds wall_clock() const noexcept override { return inner_->wall_clock(); }
    [[nodiscard]] std::uint64_t random() override { return inner_->random(); }
    void random_bytes(std::span<std::byte> bytes) override { inner_->random_bytes(bytes); }
    [[nodiscard]] boost::asio::any_io_executor const& user_executor() const noexcept override
    {
        return inner_->user_executor();
    }
    [[nodiscard]] Strand const& strand() const noexcept override { return inner_->strand(); }
    void post(Task task) override
    {
        if (paused_ || !held_.empty())
            held_.emplace_back(0, std::move(task));
        else
            inner_->post(std::move(task));
    }
    TimerId call_at(Instant when, Task task) override
    {
        auto const id = std::make_shared<TimerId>(0);
        *id = inner_->call_at(when, [weak = weak_from_this(), id, task = std::move(task)]() mutable {
            auto const self = weak.lock();
            if (!self)
                return;
            if (self->paused_ || !self->held_.empty())
                self->held_.emplace_back(*id, std::move(task));
            else
                std::move(task)();
        });
        return *id;
    }
    void cancel(TimerId id) noexcept override
    {
        inner_->cancel(id);
        if (id != 0)
            std::erase_if(held_, [id](auto const& one) { return one.first == id; });
    }
    [[nodiscard]] bool logs(LogLevel) const noexcept override { return false; }
    void log(LogLevel, std::string_view) const noexcept override {}

private:
    void run_held()
    {
        inner_->post([weak = weak_from_this()] {
            auto const self = weak.lock();
            if (!self || self->paused_ || self->held_.empty())
                return;
            auto first = std::move(self->held_.front().second);
            self->held_.pop_front();
            std::move(first)();
            self->run_held();
        });
    }

    std::shared_ptr<Runtime> inner_;
    bool paused_ = false;
    /// became ready meanwhile: the timer or 0, and its task
    std::deque<std::pair<TimerId, Task>> held_;
};

} // namespace tenure::simulation
