// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/backend/renew_each.hpp>
#include <tenure/backend/runtime.hpp>

#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

using namespace backend; // NOLINT(google-build-using-namespace): it implements the seam

/** A store that answers when, and what, the test says. */
class ScriptedBackend : public Backend
{
public:
    template <class Request, class Reply>
    struct Asked {
        Request request;
        ReplyHandler<Reply> handler;
    };

    explicit ScriptedBackend(std::shared_ptr<Runtime> runtime)
        : runtime_(std::move(runtime))
    {
    }

    [[nodiscard]] Capabilities capabilities() const noexcept override
    {
        return {
            .keeps_line = line,
            .frees_silently = silent_releases,
            .single_use_owners = owners_are_spent,
            .no_quarantine = nullptr,
            .no_detach = nullptr,
            .no_shares = no_shares,
            .no_list = no_list};
    }
    void claim(ClaimRequest request, ReplyHandler<ClaimReply> handler) override
    {
        if (writes_claims)
            request.not_after.progressed(runtime_->now());
        claims.push_back({std::move(request), std::move(handler)});
    }
    void renew(std::vector<RenewRequest> requests, RenewHandler handler) override
    {
        ++renew_calls;
        if (renew_throws)
            throw std::runtime_error("scripted");
        renew_each(std::move(requests), std::move(handler), [this](RenewRequest request, auto reply_to) {
            renewals.push_back({std::move(request), std::move(reply_to)});
        });
    }
    void release(ReleaseRequest request, ReplyHandler<ReleaseReply> handler) override
    {
        releases.push_back({std::move(request), std::move(handler)});
    }
    void withdraw(WithdrawRequest request, ReplyHandler<WithdrawReply> handler) override
    {
        withdrawals.push_back({std::move(request), std::move(handler)});
    }
    std::unique_ptr<Watch> watch(KeyRangePtr, WatchAs as, WatchHandler handler) override
    {
        struct Subscription : Watch {
            explicit Subscription(ScriptedBackend& backend)
                : owner(backend)
            {
            }
            ~Subscription() override { --owner.watching; }
            ScriptedBackend& owner;
        };
        ++watching;
        watched_as = as;
        watch_handler = std::move(handler);
        return std::make_unique<Subscription>(*this);
    }
    void leave_line(KeyRangePtr) override
    {
        ++lines_left;
        left_after_shutdown = left_after_shutdown || shutdowns > 0;
    }
    void ready(Deadline not_after, ReplyHandler<ReadyReply> handler) override
    {
        readies.push_back({std::move(not_after), std::move(handler)});
    }
    void inspect(InspectRequest request, ReplyHandler<InspectReply> handler) override
    {
        if (answers_inspections) {
            inspections.push_back({std::move(request.range), std::move(handler)});
            return;
        }
        runtime_->post([handler = std::move(handler)]() mutable {
            std::move(handler)(Failure::not_sent(
                error_code(boost::system::errc::make_error_code(boost::system::errc::not_supported)), "scripted"));
        });
    }
    void list(ListRequest request, ReplyHandler<ListReply> handler) override
    {
        listings.push_back({std::move(request), std::move(handler)});
    }
    void evict(EvictRequest, ReplyHandler<EvictReply> handler) override
    {
        runtime_->post([handler = std::move(handler)]() mutable { std::move(handler)(NotOwner{}); });
    }
    /** Its requests count as written: none is dropped. */
    void drop_abandoned() override { ++drops; }
    void on_reachable(std::function<void()> handler) override { reachable = std::move(handler); }
    void shortest_ttl(std::chrono::milliseconds ttl) override { told_ttls.push_back(ttl); }
    [[nodiscard]] std::string describe() const override { return "scripted://"; }
    void shutdown() noexcept override
    {
        ++shutdowns;
        claims.clear();
        renewals.clear();
        releases.clear();
        withdrawals.clear();
        readies.clear();
        inspections.clear();
        listings.clear();
    }

    /** Answers the oldest of these requests. */
    template <class Request, class Reply, class Answer>
    Request answer(std::deque<Asked<Request, Reply>>& asked, Answer reply)
    {
        auto first = std::move(asked.front());
        asked.pop_front();
        runtime_->post([handler = std::move(first.handler), reply = Reply(std::move(reply))]() mutable {
            std::move(handler)(std::move(reply));
        });
        return std::move(first.request);
    }

    std::deque<Asked<ClaimRequest, ClaimReply>> claims;
    std::deque<Asked<RenewRequest, RenewReply>> renewals;
    std::deque<Asked<ReleaseRequest, ReleaseReply>> releases;
    std::deque<Asked<WithdrawRequest, WithdrawReply>> withdrawals;
    std::deque<Asked<Deadline, ReadyReply>> readies;
    std::deque<Asked<KeyRangePtr, InspectReply>> inspections;
    std::deque<Asked<ListRequest, ListReply>> listings;
    WatchHandler watch_handler;
    WatchAs watched_as = WatchAs::waiter;
    std::function<void()> reachable;
    std::vector<std::chrono::milliseconds> told_ttls;
    /// false: claims wait for their turn
    bool writes_claims = true;
    bool owners_are_spent = false;
    /// false: an inspection is refused at once
    bool answers_inspections = false;
    /// both are asked for when a wait queue is made or an acquisition begins
    bool line = false;
    bool silent_releases = false;
    /// null: keys may be held in places
    char const* no_shares = nullptr;
    char const* no_list = "the test gave no list";
    int lines_left = 0;
    /// a line was left after the shutdown
    bool left_after_shutdown = false;
    bool renew_throws = false;
    int renew_calls = 0;
    int watching = 0;
    int shutdowns = 0;
    /// how often it was told that requests were abandoned
    int drops = 0;

private:
    std::shared_ptr<Runtime> runtime_;
};

} // namespace tenure::test
