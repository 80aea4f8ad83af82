// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "fleet/crowd.hpp"

#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <utility>

namespace tenure::fleet
{

namespace asio = boost::asio;

namespace
{

/// long enough for a second holder to be seen
constexpr std::chrono::milliseconds hold_time{2};

} // namespace

Crowd::Crowd(Client& client, std::string const& prefix, std::size_t keys)
    : client_(client)
{
    for (std::size_t i = 0; i < keys; ++i)
        cells_.push_back({Lock{client.store(), {.key = key_name(prefix, i), .ttl = ttl}}});
}

void Crowd::start(std::size_t waiters, std::chrono::milliseconds limit)
{
    waiters_ = waiters;
    started_ = last_grant_ = Clock::now();
    for (std::size_t i = 0; i < waiters; ++i) {
        auto const key = i % cells_.size();
        cells_[key].lock.async_acquire(
            {.wait = limit}, [self = shared_from_this(), key](error_code error, Lease lease) {
                self->endings_.count(error);
                if (!error)
                    self->granted(key, std::move(lease));
                else if (self->endings_.all() == self->waiters_)
                    self->measure_gap();
            });
    }
}

void Crowd::granted(std::size_t key, Lease lease)
{
    measure_gap();
    last_grant_ = Clock::now();
    auto& cell = cells_[key];
    double_holdings_ += cell.held_until && last_grant_ < *cell.held_until;
    tokens_out_of_order_ += lease.fencing_token() <= cell.last_token;
    cell.held_until = lease.valid_until();
    cell.last_token = lease.fencing_token();
    ++holders_;
    auto timer = std::make_shared<asio::steady_timer>(client_.context(), hold_time);
    auto shared = std::make_shared<Lease>(std::move(lease));
    timer->async_wait(
        [self = shared_from_this(), timer, key, shared](error_code) { self->release(key, std::move(*shared)); });
}

void Crowd::release(std::size_t key, Lease lease)
{
    lost_ += !lease.valid();
    cells_[key].held_until.reset();
    lease.async_release([self = shared_from_this()](error_code, ReleaseOutcome) { --self->holders_; });
}

void Crowd::measure_gap()
{
    longest_gap_ = std::max<std::chrono::nanoseconds>(longest_gap_, Clock::now() - last_grant_);
}

std::chrono::nanoseconds Crowd::longest_gap() const noexcept
{
    // a crowd that never ends has a gap that lasts
    return endings_.all() == waiters_ ? longest_gap_
                                      : std::max<std::chrono::nanoseconds>(longest_gap_, Clock::now() - last_grant_);
}

double Crowd::rate() const noexcept
{
    auto const time = std::chrono::duration<double>(last_grant_ - started_).count();
    return endings_.granted == 0 || time <= 0 ? 0 : static_cast<double>(endings_.granted) / time;
}

} // namespace tenure::fleet
