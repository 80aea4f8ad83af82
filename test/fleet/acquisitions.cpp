// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "fleet/acquisitions.hpp"

#include <algorithm>
#include <utility>

namespace tenure::fleet
{

namespace
{

constexpr std::size_t name_size = 300;

} // namespace

std::string key_name(std::string_view prefix, std::size_t index)
{
    auto name = std::string{prefix} + std::to_string(index) + ":";
    name.resize(name_size, 'n');
    return name;
}

void Endings::count(error_code error)
{
    if (!error)
        ++granted;
    else if (error == errc::timed_out)
        ++timed_out;
    else
        ++failed;
    unexpected += error && error != errc::timed_out && error != errc::store_unavailable;
    if (error)
        ++errors[error.message()];
}

Acquisitions::Acquisitions(
    Client& client, std::string prefix, std::size_t keys, std::size_t at_once, std::chrono::milliseconds its_ttl)
    : client_(client)
    , prefix_(std::move(prefix))
    , keys_(keys)
    , at_once_(at_once)
    , ttl_(its_ttl)
{
}

void Acquisitions::start()
{
    leases_.reserve(keys_);
    started_ = Clock::now();
    for (std::size_t i = 0; i < std::min(at_once_, keys_); ++i)
        next();
}

void Acquisitions::next()
{
    if (next_ == keys_)
        return;
    Lock const lock{client_.store(), {.key = key_name(prefix_, next_++), .ttl = ttl_}};
    lock.async_acquire({.wait = wait}, [self = shared_from_this()](error_code error, Lease lease) {
        self->endings_.count(error);
        if (!error) {
            self->last_grant_ = Clock::now();
            if (self->leases_.empty())
                self->first_grant_ = self->last_grant_;
            self->leases_.push_back(std::move(lease));
        }
        self->next();
    });
}

double Acquisitions::rate() const noexcept
{
    auto const time = std::chrono::duration<double>(last_grant_ - started_).count();
    return endings_.granted == 0 || time <= 0 ? 0 : static_cast<double>(endings_.granted) / time;
}

void Acquisitions::begin_to_count_renewed()
{
    valid_until_.clear();
    for (auto const& lease : leases_)
        valid_until_.push_back(lease.valid_until());
}

std::size_t Acquisitions::renewed() const
{
    std::size_t count = 0;
    for (std::size_t i = 0; i < valid_until_.size(); ++i)
        count += leases_[i].valid() && leases_[i].valid_until() > valid_until_[i];
    return count;
}

} // namespace tenure::fleet
