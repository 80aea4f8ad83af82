// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "system/support/live_backend.hpp"

#include "engine/asio_runtime.hpp"
#include "redis/backend.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <iostream>

namespace tenure::test
{

using namespace std::chrono_literals;

LiveBackend::LiveBackend(std::function<std::shared_ptr<Backend>(std::shared_ptr<Runtime>)> const& make)
    : runtime_(engine::make_asio_runtime(
          context_.get_executor(), [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }))
    , backend_(make(runtime_))
{
}

LiveBackend::LiveBackend(RedisConfig const& config, redis::StreamFactory streams)
    : LiveBackend([&](std::shared_ptr<Runtime> runtime) {
        return redis::make_backend(std::move(runtime), config, std::move(streams));
    })
{
}

LiveBackend::LiveBackend(RedisServer const& server)
    : LiveBackend(config_of(server))
{
}

LiveBackend::~LiveBackend()
{
    on_strand([this] { backend_->shutdown(); });
    backend_.reset();
    context_.restart();
    context_.run_for(5s);
    if (!context_.stopped())
        std::cerr << "LiveBackend: work was left after shutdown\n";
}

std::size_t LiveBackend::logged(std::string_view part) const
{
    return static_cast<std::size_t>(std::count_if(lines_.begin(), lines_.end(), [part](std::string const& line) {
        return line.find(part) != std::string::npos;
    }));
}

ClaimReply LiveBackend::claim(ClaimRequest const& request)
{
    return ask<ClaimReply>([&](auto handler) { backend_->claim(request, std::move(handler)); });
}

ClaimReply LiveBackend::claim(KeyRangePtr const& range, std::string const& owner, bool fencing)
{
    return claim(ClaimRequest{range, owner, 5s, patience(), fencing, std::nullopt});
}

RenewReply LiveBackend::renew(ClaimPtr const& claim, std::chrono::milliseconds ttl)
{
    return renew_together({{claim, ttl, patience()}}).front();
}

std::vector<RenewReply> LiveBackend::renew_together(std::vector<RenewRequest> const& requests)
{
    std::vector<LaterRenewReply> replies;
    on_strand([&] { replies = test::renew_together(*backend_, requests); });
    run_until([&] { return std::ranges::all_of(replies, [](auto const& reply) { return reply->has_value(); }); });
    std::vector<RenewReply> result;
    for (auto const& reply : replies)
        result.push_back(std::move(**reply));
    return result;
}

RenewReply
LiveBackend::renew_within(ClaimPtr const& claim, std::chrono::milliseconds ttl, std::chrono::milliseconds limit)
{
    LaterRenewReply reply;
    on_strand([&] { reply = renew_one(*backend_, {claim, ttl, patience()}); });
    auto const end = std::chrono::steady_clock::now() + limit;
    run_until([&] { return reply->has_value() || std::chrono::steady_clock::now() >= end; });
    return *reply ? std::move(**reply)
                  : RenewReply(Failure::unknown(make_error_code(errc::store_unavailable), "no reply in time"));
}

ReleaseReply LiveBackend::release(ClaimPtr const& claim, bool notifications)
{
    return ask<ReleaseReply>(
        [&](auto handler) { backend_->release({claim, patience(), notifications}, std::move(handler)); });
}

WithdrawReply LiveBackend::withdraw(KeyRangePtr const& range, std::string const& owner)
{
    return ask<WithdrawReply>(
        [&](auto handler) { backend_->withdraw({range, owner, patience(), true}, std::move(handler)); });
}

ReadyReply LiveBackend::ready()
{
    return ask<ReadyReply>([&](auto handler) { backend_->ready(patience(), std::move(handler)); });
}

InspectReply LiveBackend::inspect(KeyRangePtr const& range)
{
    return ask<InspectReply>([&](auto handler) { backend_->inspect(range, patience(), std::move(handler)); });
}

EvictReply LiveBackend::evict(KeyRangePtr const& range, std::uint32_t index, std::string const& owner)
{
    return ask<EvictReply>(
        [&](auto handler) { backend_->evict({range, index, owner, "operator", patience()}, std::move(handler)); });
}

Findings LiveBackend::examine(std::chrono::milliseconds ttl)
{
    return ask<Findings>([&](auto handler) { backend_->examine(ttl, patience(), std::move(handler)); });
}

void LiveBackend::on_strand(std::function<void()> function)
{
    bool done = false;
    runtime_->post([&] {
        function();
        done = true;
    });
    run_until([&done] { return done; });
}

void LiveBackend::run_until(std::function<bool()> const& condition, std::chrono::milliseconds limit)
{
    auto const deadline = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        auto const left = deadline - std::chrono::steady_clock::now();
        if (left <= 0s)
            throw std::runtime_error("what was waited for did not happen in time");
        context_.restart();
        context_.run_one_for(std::min<std::chrono::nanoseconds>(left, 50ms));
    }
}

void LiveBackend::run_for(std::chrono::milliseconds duration)
{
    auto const end = std::chrono::steady_clock::now() + duration;
    while (std::chrono::steady_clock::now() < end) {
        context_.restart();
        context_.run_until(end);
    }
}

bool LiveBackend::idle()
{
    context_.restart();
    context_.run_for(2s);
    return context_.stopped();
}

RedisConfig config_of(RedisServer const& server)
{
    RedisConfig config;
    config.port = server.port();
    return config;
}

ClaimPtr claim_of(KeyRangePtr range, std::string owner, std::uint32_t index)
{
    auto claim = std::make_shared<Claim>();
    claim->range = std::move(range);
    claim->owner = std::move(owner);
    claim->index = index;
    return claim;
}

std::string owner(unsigned number)
{
    auto digits = std::to_string(number);
    return "worker/" + std::string(32 - digits.size(), '0') + digits;
}

} // namespace tenure::test
