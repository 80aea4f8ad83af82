// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "process.hpp"

#include "world.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace tenure::simulation
{

namespace asio = boost::asio;

namespace
{

/// standing still for less is what machines do
constexpr Ns hiccup = 6 * millisecond;

std::chrono::milliseconds in_milliseconds(Ns time)
{
    return std::chrono::milliseconds(time / millisecond);
}

class SimulatedRuntime final : public Runtime
{
public:
    SimulatedRuntime(Process& process, asio::any_io_executor executor, Random random)
        : process_(process)
        , executor_(std::move(executor))
        , strand_(executor_)
        , random_(random)
    {
    }

    [[nodiscard]] Instant now() const noexcept override { return process_.now(); }
    [[nodiscard]] std::chrono::sys_seconds wall_clock() const noexcept override
    {
        return std::chrono::sys_seconds(std::chrono::floor<std::chrono::seconds>(now().time_since_epoch()));
    }
    [[nodiscard]] std::uint64_t random() override { return random_.next(); }
    void random_bytes(std::span<std::byte> bytes) override
    {
        for (auto& byte : bytes)
            byte = static_cast<std::byte>(random_.next() >> 56U);
    }
    [[nodiscard]] asio::any_io_executor const& user_executor() const noexcept override { return executor_; }
    [[nodiscard]] Strand const& strand() const noexcept override { return strand_; }
    void post(Task task) override { asio::post(strand_, std::move(task)); }
    TimerId call_at(Instant when, Task task) override { return process_.call_at(when, std::move(task)); }
    void cancel(TimerId id) noexcept override { process_.cancel(id); }
    [[nodiscard]] bool logs(LogLevel) const noexcept override { return false; }
    void log(LogLevel, std::string_view) const noexcept override {}

private:
    Process& process_;
    asio::any_io_executor executor_;
    Strand strand_;
    Random random_;
};

} // namespace

Process::Process(World& world, ProcessId id)
    : world_(world)
    , id_(id)
    , access_(world.layer.access(*this))
{
}

Process::~Process()
{
    end();
}

void Process::begin(std::uint64_t seed, LocalClock clock)
{
    clock_ = clock;
    random_ = Random(seed, 20 + id_);
    access_->begin(seed);
    life_ = 0;
    last_timer_ = 0;
    still_until_ = last_trouble_ = died_at_ = 0;
    auto const& plan = world_.plan();
    workers_.clear();
    for (std::uint32_t number = 0; number < plan.settings.workers; ++number)
        workers_.emplace_back(world_, *this, number, seed);
    start();
}

bool Process::stands_still() const noexcept
{
    return world_.scheduler.held(id_);
}

Settings const& Process::settings() const noexcept
{
    return world_.plan().settings;
}

Instant Process::now() const noexcept
{
    return clock_.instant_at(world_.now());
}

Ns Process::world_at(Instant local) const noexcept
{
    return clock_.world_at(local.time_since_epoch().count());
}

void Process::make_store()
{
    context_ = std::make_unique<Context>(world_.scheduler, id_);
    runtime_ = std::make_shared<SimulatedRuntime>(
        *this, asio::any_io_executor(context_->get_executor()), Random(random_.next(), life_));
    StoreOptions options;
    options.worker_name = "p" + std::to_string(id_);
    store_.emplace(runtime_, access_->make_backend(runtime_), std::move(options));
}

void Process::start()
{
    if (alive())
        return;
    ++life_;
    stopping_ = false;
    world_.chronicle.write(Note::process_starts, id_, 0, 0, life_);
    world_.scheduler.let_run(id_);
    make_store();
    auto const& settings = world_.plan().settings;
    LeaseOptions of_plain;
    of_plain.fencing = false;
    of_plain.notifications = settings.notifications_of_plain;
    if (settings.max_hold != 0)
        of_plain.max_hold = in_milliseconds(settings.max_hold);
    if (settings.fire_on_first_failure)
        of_plain.cancel_when = CancelWhen::first_failed_renewal;
    job_.emplace(*store_, LockConfig{std::string(name_of(RangeId::job)), in_milliseconds(settings.ttl[0]), {}});
    plain_.emplace(
        *store_, LockConfig{std::string(name_of(RangeId::plain)), in_milliseconds(settings.ttl[1]), of_plain});
    slots_.emplace(
        *store_, SlotPoolConfig{
                     std::string(name_of(RangeId::slots)),
                     settings.slots,
                     in_milliseconds(settings.ttl[2]),
                     {},
                     in_milliseconds(settings.reuse_after)});
    for (auto& worker : workers_)
        worker.start();
}

void Process::die()
{
    if (!alive())
        return;
    world_.chronicle.write(Note::process_dies, id_);
    world_.checker.dies(*this);
    if (!stopping_)
        died_at_ = world_.now();
    ++last_timer_;
    // its tasks no longer run, and its leases are not released
    context_->end();
    access_->clear();
    for (auto& timer : timers_)
        timer = Timer{};
    timers_.clear();
    unused_timers_.clear();
    for (auto& worker : workers_)
        worker.forget();
    slots_.reset();
    plain_.reset();
    job_.reset();
    store_.reset();
    std::weak_ptr const remains = runtime_;
    runtime_.reset();
    if (!remains.expired())
        world_.checker.violate(Rule::s14, "something of a process that died keeps its runtime alive");
    context_.reset();
}

void Process::stop()
{
    if (!alive() || stopping_)
        return;
    world_.scheduler.post(id_, Work([this, life = life_] {
                              if (alive() && life == life_ && !stopping_)
                                  let_go();
                          }));
}

void Process::let_go()
{
    world_.chronicle.write(Note::process_is_told_to_stop, id_);
    stopping_ = true;
    died_at_ = world_.now();
    for (auto& worker : workers_)
        worker.stop();
    slots_.reset();
    plain_.reset();
    job_.reset();
    store_.reset();
    world_.scheduler.at(world_.now() + shutdown_time, *this, has_stopped, life_);
}

void Process::look_at_what_is_left()
{
    auto const timers = std::ranges::count_if(timers_, [](Timer const& timer) { return timer.number != 0; });
    bool const stood_still = stands_still() || last_trouble_ > died_at_;
    if (!stood_still && (timers > 0 || !access_->idle()))
        world_.checker.violate(
            Rule::s14, "process " + std::to_string(id_) + " has let go of its store, and a second later there are " +
                           std::to_string(timers) + " timers" + (access_->idle() ? "" : " and requests") + " left");
    die();
    world_.restart(id_);
}

void Process::end() noexcept
{
    if (alive())
        die();
    workers_.clear();
}

void Process::stand_still(Ns length)
{
    auto const until = world_.now() + length;
    if (until <= still_until_)
        return;
    still_until_ = until;
    if (length > hiccup) {
        last_trouble_ = until;
        world_.chronicle.write(Note::process_stops, id_, 0, 0, length / millisecond);
        // not always between two turns of its loop
        world_.scheduler.hold_after(id_, random_.below(4));
        if (random_.below(2) == 0)
            world_.scheduler.hold(id_);
    } else {
        world_.scheduler.hold(id_);
    }
    world_.scheduler.at(until, *this, goes_on, 0);
}

void Process::wake(std::uint32_t worker, std::uint32_t number, Ns after)
{
    world_.scheduler.at(
        world_.now() + after, *this, step,
        (std::uint64_t{life_} << 48U) | (std::uint64_t{worker} << 40U) | (number & 0xffffffffU));
}

Runtime::TimerId Process::call_at(Instant when, Task task)
{
    std::uint32_t slot = 0;
    if (unused_timers_.empty()) {
        slot = static_cast<std::uint32_t>(timers_.size());
        timers_.emplace_back();
    } else {
        slot = unused_timers_.back();
        unused_timers_.pop_back();
    }
    auto& timer = timers_[slot];
    timer.task = std::move(task);
    timer.number = ++last_timer_;
    Runtime::TimerId const id = (std::uint64_t{timer.number} << 20U) | slot;
    auto const& noise = world_.plan().settings.noise;
    auto at = world_at(when);
    if (noise.late_timer > 0 && random_.chance(noise.late_timer))
        at += random_.between(0, 4 * millisecond);
    if (at <= world_.plan().end)
        world_.scheduler.at(at, *this, timer_rings, id);
    return id;
}

void Process::cancel(Runtime::TimerId id) noexcept
{
    if (!pending(id))
        return;
    auto const slot = static_cast<std::uint32_t>(id & 0xfffffU);
    auto const task = std::move(timers_[slot].task);
    timers_[slot].number = 0;
    unused_timers_.push_back(slot);
}

bool Process::pending(Runtime::TimerId id) const noexcept
{
    auto const slot = static_cast<std::uint32_t>(id & 0xfffffU);
    return id != 0 && slot < timers_.size() && timers_[slot].number == id >> 20U;
}

void Process::run_timer(Runtime::TimerId id)
{
    if (!pending(id))
        return;
    auto const slot = static_cast<std::uint32_t>(id & 0xfffffU);
    auto task = std::move(timers_[slot].task);
    timers_[slot].number = 0;
    unused_timers_.push_back(slot);
    std::move(task)();
}

void Process::on_event(std::uint32_t what, std::uint64_t value)
{
    switch (what) {
    case timer_rings:
        // until its task runs it can be cancelled
        if (alive() && pending(value))
            runtime_->post([this, value] { run_timer(value); });
        break;
    case step:
        if (alive() && value >> 48U == life_)
            world_.scheduler.post(
                id_, Work([this, worker = (value >> 40U) & 0xffU, number = static_cast<std::uint32_t>(value)] {
                    workers_[worker].step(number);
                }));
        break;
    case has_stopped:
        if (alive() && value == life_)
            look_at_what_is_left();
        break;
    case goes_on:
        if (world_.now() < still_until_ || !alive())
            return;
        if (last_trouble_ == world_.now())
            world_.chronicle.write(Note::process_goes_on, id_);
        world_.scheduler.let_run(id_);
        break;
    default:
        break;
    }
}

} // namespace tenure::simulation
