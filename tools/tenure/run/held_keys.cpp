// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/held_keys.hpp"

#include "keys/loop.hpp"
#include "output/table.hpp"
#include "output/text_layout.hpp"

#include <boost/asio/this_coro.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

namespace tenure::tool
{

namespace asio = boost::asio;

HeldKeys::HeldKeys(Lease lease)
    : lease_(std::move(lease))
{
}

HeldKeys::HeldKeys(Slot slot)
{
    if (!slot.empty())
        slot_ = slot.id();
    lease_ = std::move(slot).as_lease();
}

HeldKeys::HeldKeys(LeaseSet leases)
    : leases_(std::move(leases))
{
}

std::size_t HeldKeys::size() const noexcept
{
    return lease_.empty() ? leases_.size() : 1;
}

Lease const& HeldKeys::operator[](std::size_t index) const
{
    return lease_.empty() ? leases_[index] : lease_;
}

CancellationToken HeldKeys::token() const
{
    return lease_.empty() ? leases_.token() : lease_.token();
}

std::optional<CancelReason> HeldKeys::loss() const
{
    auto const all = token();
    return all.cancelled() ? std::optional(all.reason()) : std::nullopt;
}

std::string HeldKeys::lost_key() const
{
    for (std::size_t index = 0; index < size(); ++index)
        if ((*this)[index].token().cancelled())
            return (*this)[index].key();
    return (*this)[0].key();
}

Instant HeldKeys::valid_until() const
{
    return lease_.empty() ? leases_.valid_until() : lease_.valid_until();
}

template <class Value>
Value HeldKeys::least(Value (Lease::*get)() const) const
{
    auto result = ((*this)[0].*get)();
    for (std::size_t index = 1; index < size(); ++index)
        result = std::min(result, ((*this)[index].*get)());
    return result;
}

Instant HeldKeys::stop_at() const
{
    return least(&Lease::stop_at);
}

std::chrono::milliseconds HeldKeys::ttl() const
{
    return least(&Lease::ttl);
}

std::string HeldKeys::describe() const
{
    std::vector<std::string> keys;
    for (std::size_t index = 0; index < size(); ++index)
        keys.push_back(printable((*this)[index].key(), 256));
    return listed(keys);
}

asio::awaitable<bool> HeldKeys::release(std::chrono::milliseconds limit)
{
    TimeLimit const time_limit(co_await asio::this_coro::executor, limit);
    auto lease = std::exchange(lease_, Lease());
    auto leases = std::exchange(leases_, LeaseSet());
    auto token = cancelled_by(time_limit.slot());
    std::tuple<error_code, ReleaseOutcome> result;
    if (!lease.empty())
        result = co_await lease.async_release(token);
    else
        result = co_await leases.async_release(token);
    co_return !std::get<0>(result) && std::get<1>(result) != ReleaseOutcome::unconfirmed;
}

Lease HeldKeys::take()
{
    return std::exchange(lease_, Lease());
}

namespace
{

constexpr std::string_view fencing_token = "TENURE_FENCING_TOKEN";

void add_token(std::vector<std::string>& environment, std::string const& name, Lease const& lease)
{
    if (lease.has_fencing_token())
        environment.push_back(name + "=" + std::to_string(lease.fencing_token()));
}

} // namespace

bool tells_what_is_held(std::string_view line)
{
    static constexpr std::array names = {std::string_view("TENURE_ELECTION"), std::string_view("TENURE_KEY"),
                                         std::string_view("TENURE_KEYS"),     std::string_view("TENURE_SHARD"),
                                         std::string_view("TENURE_SLOT"),     fencing_token};
    auto const name = line.substr(0, line.find('='));
    auto const numbered = name.starts_with(fencing_token) ? name.substr(fencing_token.size()) : std::string_view();
    return std::ranges::find(names, name) != names.end() || numbered.starts_with('_');
}

std::vector<std::string> inherited_environment()
{
    std::vector<std::string> result;
    for (auto const* const* line = environ; *line != nullptr; ++line)
        if (!tells_what_is_held(*line))
            result.emplace_back(*line);
    return result;
}

std::vector<std::string> environment_for(HeldKeys const& held)
{
    auto result = inherited_environment();
    result.push_back("TENURE_KEY=" + held[0].key());
    if (held.slot())
        result.push_back("TENURE_SLOT=" + std::to_string(*held.slot()));
    if (held.size() == 1) {
        add_token(result, std::string(fencing_token), held[0]);
        return result;
    }
    // a token guards one key: none stands for all of them
    std::string keys;
    for (std::size_t index = 0; index < held.size(); ++index) {
        // no key has a line break
        keys += (index == 0 ? "" : "\n") + held[index].key();
        add_token(result, std::string(fencing_token) + "_" + std::to_string(index + 1), held[index]);
    }
    result.push_back("TENURE_KEYS=" + keys);
    return result;
}

} // namespace tenure::tool
