// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/conformance/client.hpp>
#include <tenure/conformance/renewals.hpp>
#include <tenure/errc.hpp>
#include <tenure/log.hpp>
#include <tenure/store.hpp>

#include <algorithm>
#include <iostream>
#include <stdexcept>
#include <utility>

namespace tenure::conformance
{

Client::Client(MakeBackend const& make)
    : Client(
          [](boost::asio::io_context& context) {
              StoreOptions options;
              options.log = silent_log_sink();
              return backend::make_runtime(context, options);
          },
          make)
{
}

Client::Client(MakeRuntime const& runtime, MakeBackend const& make)
    : runtime_(runtime(context_))
    , backend_(make(runtime_))
{
    if (backend_ == nullptr)
        throw std::invalid_argument("tenure::conformance::Client: no backend was made");
}

Client::~Client()
{
    on_strand([this] { backend_->shutdown(); });
    backend_.reset();
    context_.restart();
    context_.run_for(std::chrono::seconds{5});
    if (!context_.stopped())
        std::cerr << "tenure::conformance::Client: work was left after shutdown\n";
}

backend::ClaimReply Client::claim(backend::ClaimRequest const& request)
{
    return ask<backend::ClaimReply>([&](auto handler) { backend_->claim(request, std::move(handler)); });
}

backend::ClaimReply Client::claim(KeyRangePtr const& range, std::string const& owner, bool fencing)
{
    return claim(backend::ClaimRequest{range, owner, std::chrono::seconds{5}, patience(), fencing, std::nullopt});
}

backend::RenewReply Client::renew(backend::ClaimPtr const& claim, std::chrono::milliseconds ttl)
{
    return renew_together({{claim, ttl, patience()}}).front();
}

std::vector<backend::RenewReply> Client::renew_together(std::vector<backend::RenewRequest> const& requests)
{
    std::vector<LaterRenewReply> replies;
    on_strand([&] { replies = conformance::renew_together(*backend_, requests); });
    run_until([&] { return std::ranges::all_of(replies, [](auto const& reply) { return reply->has_value(); }); });
    std::vector<backend::RenewReply> result;
    for (auto const& reply : replies)
        result.push_back(std::move(**reply));
    return result;
}

backend::RenewReply
Client::renew_within(backend::ClaimPtr const& claim, std::chrono::milliseconds ttl, std::chrono::milliseconds limit)
{
    LaterRenewReply reply;
    on_strand([&] { reply = renew_one(*backend_, {claim, ttl, patience()}); });
    auto const end = std::chrono::steady_clock::now() + limit;
    run_until([&] { return reply->has_value() || std::chrono::steady_clock::now() >= end; });
    return *reply ? std::move(**reply)
                  : backend::RenewReply(
                        backend::Failure::unknown(make_error_code(errc::store_unavailable), "no reply in time"));
}

backend::ReleaseReply Client::release(backend::ClaimPtr const& claim, bool notifications)
{
    return ask<backend::ReleaseReply>(
        [&](auto handler) { backend_->release({claim, patience(), notifications}, std::move(handler)); });
}

backend::WithdrawReply Client::withdraw(KeyRangePtr const& range, std::string const& owner)
{
    return ask<backend::WithdrawReply>(
        [&](auto handler) { backend_->withdraw({range, owner, patience(), true}, std::move(handler)); });
}

backend::ReadyReply Client::ready()
{
    return ask<backend::ReadyReply>([&](auto handler) { backend_->ready(patience(), std::move(handler)); });
}

backend::InspectReply Client::inspect(KeyRangePtr const& range, bool names_only)
{
    return ask<backend::InspectReply>(
        [&](auto handler) { backend_->inspect({range, patience(), names_only}, std::move(handler)); });
}

backend::EvictReply Client::evict(KeyRangePtr const& range, std::uint32_t index, std::string const& owner)
{
    return ask<backend::EvictReply>(
        [&](auto handler) { backend_->evict({range, index, owner, "operator", patience()}, std::move(handler)); });
}

backend::ListReply Client::list(std::string const& prefix, std::size_t most)
{
    return ask<backend::ListReply>(
        [&](auto handler) { backend_->list({prefix, most, patience()}, std::move(handler)); });
}

Findings Client::examine(std::chrono::milliseconds ttl)
{
    return ask<Findings>([&](auto handler) { backend_->examine(ttl, patience(), std::move(handler)); });
}

void Client::on_strand(std::function<void()> const& function)
{
    bool done = false;
    runtime_->post([&] {
        function();
        done = true;
    });
    run_until([&done] { return done; });
}

void Client::run_until(std::function<bool()> const& condition, std::chrono::milliseconds limit)
{
    auto const deadline = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        auto const left = deadline - std::chrono::steady_clock::now();
        if (left <= std::chrono::seconds{0})
            throw std::runtime_error("what was waited for did not happen in time");
        context_.restart();
        context_.run_one_for(std::min<std::chrono::nanoseconds>(left, std::chrono::milliseconds{50}));
    }
}

void Client::run_for(std::chrono::milliseconds duration)
{
    auto const end = std::chrono::steady_clock::now() + duration;
    while (std::chrono::steady_clock::now() < end) {
        context_.restart();
        context_.run_until(end);
    }
}

bool Client::idle()
{
    context_.restart();
    context_.run_for(std::chrono::seconds{2});
    return context_.stopped();
}

backend::ClaimPtr claim_of(KeyRangePtr range, std::string owner, backend::Granted const& granted)
{
    auto claim = std::make_shared<backend::Claim>();
    claim->range = std::move(range);
    claim->owner = std::move(owner);
    claim->index = granted.index;
    claim->fencing_token = granted.fencing_token;
    claim->handle = granted.handle;
    return claim;
}

std::string owner(unsigned number)
{
    auto const digits = std::to_string(number);
    return "worker/" + std::string(32 - digits.size(), '0') + digits;
}

} // namespace tenure::conformance
