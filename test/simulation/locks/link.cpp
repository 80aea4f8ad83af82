// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "link.hpp"

#include <tenure/backend/renew_each.hpp>
#include <tenure/errc.hpp>
#include <tenure/owner.hpp>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

namespace tenure::simulation
{

namespace
{

/// a client gives up waiting for a reply after this time
constexpr std::chrono::seconds patience{1};

/** A reply counts from before the request was written. */
template <class Reply>
void count_from(Reply& reply, Instant written)
{
    if constexpr (std::is_same_v<Reply, ClaimReply>) {
        if (auto* const granted = std::get_if<Granted>(&reply))
            granted->since = written;
        else if (auto* const busy = std::get_if<Busy>(&reply); busy && busy->place)
            busy->place->since = written;
    } else if constexpr (std::is_same_v<Reply, RenewReply>) {
        if (auto* const renewed = std::get_if<Renewed>(&reply))
            renewed->since = written;
    }
}

std::string note_of(std::string const& owner)
{
    auto const text = read_owner(owner);
    return text ? text->note : std::string();
}

} // namespace

class Link::Subscription final : public Watch
{
public:
    Subscription(std::shared_ptr<Link> link, KeyRange const& range, WatchAs as, WatchHandler handler)
        : domain_(link->domain_)
        , handler_(std::make_shared<WatchHandler>(std::move(handler)))
    {
        auto notify = [weak = std::weak_ptr(link), handler = std::weak_ptr(handler_)](WatchNews news) {
            auto const alive = weak.lock();
            if (alive && alive->reachable_ && !alive->loses_news_)
                alive->later(
                    alive->any_delay(),
                    [handler, event = news.event, held = std::vector(news.held.begin(), news.held.end())] {
                        if (auto const listening = handler.lock())
                            (*listening)({event, held});
                    });
        };
        id_ = domain_->subscribe(notify, range, as, link->name_);
        std::erase_if(link->watching_, [](auto const& one) { return one.expired(); });
        link->watching_.push_back(handler_);
        notify(WatchEvent::in_force);
    }
    Subscription(Subscription const&) = delete;
    Subscription& operator=(Subscription const&) = delete;
    ~Subscription() override { domain_->unsubscribe(id_); }

private:
    std::shared_ptr<memory::Domain> domain_;
    std::shared_ptr<WatchHandler> handler_;
    std::uint64_t id_ = 0;
};

class Link::LinkBackend final : public Backend
{
public:
    LinkBackend(std::shared_ptr<Runtime> runtime, std::shared_ptr<Link> link)
        : runtime_(std::move(runtime))
        , link_(std::move(link))
    {
    }

    [[nodiscard]] Capabilities capabilities() const noexcept override
    {
        return {.keeps_line = true, .no_shares = nullptr};
    }
    void claim(ClaimRequest request, ReplyHandler<ClaimReply> handler) override
    {
        std::string owner = request.owner;
        if (link_->reachable_)
            request.not_after.progressed(link_->time_.now());
        ask<ClaimReply>(
            owner,
            [request = std::move(request),
             witness = witness()](memory::Domain& domain, Instant now, memory::StoreName store) {
                auto reply = domain.claim(request, now, store);
                if (witness != nullptr && request.share)
                    witness->claimed(request, reply);
                return reply;
            },
            std::move(handler));
    }
    void renew(std::vector<RenewRequest> requests, RenewHandler handler) override
    {
        renew_each(
            std::move(requests), std::move(handler), [this](RenewRequest request, ReplyHandler<RenewReply> reply_to) {
                auto told = [link = link_, owner = request.claim->owner,
                             reply_to = std::move(reply_to)](RenewReply&& reply) mutable {
                    if (std::holds_alternative<NotOwner>(reply))
                        link->told_of_loss_.try_emplace(owner, link->time_.now());
                    std::move(reply_to)(std::move(reply));
                };
                ask<RenewReply>(
                    {},
                    [request = std::move(request),
                     witness = witness()](memory::Domain& domain, Instant now, memory::StoreName) {
                        auto reply = domain.renew(request, now);
                        if (witness != nullptr && request.claim->range->shares)
                            witness->renewed(request, reply);
                        return reply;
                    },
                    std::move(told));
            });
    }
    void release(ReleaseRequest request, ReplyHandler<ReleaseReply> handler) override
    {
        auto const owner = request.claim->owner;
        link_->given_back_.insert(owner);
        ask<ReleaseReply>(
            owner,
            [request = std::move(request),
             witness = witness()](memory::Domain& domain, Instant now, memory::StoreName store) {
                if (witness != nullptr && request.claim->range->shares)
                    witness->gave_back(*request.claim->range, request.claim->owner);
                return domain.release(request, now, store);
            },
            std::move(handler));
    }
    void withdraw(WithdrawRequest request, ReplyHandler<WithdrawReply> handler) override
    {
        auto const owner = request.owner;
        link_->given_back_.insert(owner);
        ask<WithdrawReply>(
            owner,
            [request = std::move(request),
             witness = witness()](memory::Domain& domain, Instant now, memory::StoreName store) {
                if (witness != nullptr && request.range->shares)
                    witness->gave_back(*request.range, request.owner);
                return domain.withdraw(request, now, store);
            },
            std::move(handler));
    }
    [[nodiscard]] std::unique_ptr<Watch> watch(KeyRangePtr range, WatchAs as, WatchHandler handler) override
    {
        return std::make_unique<Subscription>(link_, *range, as, std::move(handler));
    }
    void leave_line(KeyRangePtr range) override
    {
        if (!link_->dead_ && link_->reachable_ && !link_->loses_requests_)
            link_->domain_->leave_line(*range, link_->name_);
    }
    void ready(Deadline, ReplyHandler<ReadyReply> handler) override
    {
        ask<ReadyReply>({}, [](memory::Domain&, Instant, memory::StoreName) { return Ready{}; }, std::move(handler));
    }
    void inspect(InspectRequest request, ReplyHandler<InspectReply> handler) override
    {
        ask<InspectReply>(
            {},
            [range = std::move(request.range)](memory::Domain& domain, Instant now, memory::StoreName) {
                return domain.inspect(*range, now);
            },
            std::move(handler));
    }
    void evict(EvictRequest request, ReplyHandler<EvictReply> handler) override
    {
        ask<EvictReply>(
            {},
            [request = std::move(request)](memory::Domain& domain, Instant now, memory::StoreName) {
                return domain.evict(request, now);
            },
            std::move(handler));
    }
    void on_reachable(std::function<void()> handler) override { link_->on_reachable_.push_back(std::move(handler)); }
    void shortest_ttl(std::chrono::milliseconds) override {}
    [[nodiscard]] std::string describe() const override { return "simulated://"; }
    void shutdown() noexcept override {}

private:
    [[nodiscard]] Witness* witness() const noexcept { return link_->witness_; }

    /** @param owner  the owner of the key that it may take or give back; empty: none */
    template <class Reply, class Execute>
    void ask(std::string const& owner, Execute execute, ReplyHandler<Reply> handler)
    {
        auto& link = *link_;
        auto const unavailable = make_error_code(errc::store_unavailable);
        if (link.dead_)
            return;
        auto const note = note_of(owner);
        link.asking_.insert(note);
        auto finish = [link = link_, note, handler = std::move(handler)](Reply&& reply) mutable {
            link->asking_.erase(link->asking_.find(note));
            if (std::holds_alternative<Failure>(reply))
                link->last_trouble_ = link->time_.now();
            std::move(handler)(std::move(reply));
        };
        if (!link.reachable_) {
            link.later({}, [finish = std::move(finish), unavailable]() mutable {
                finish(Failure::not_sent(unavailable, "the simulated store is unavailable"));
            });
            return;
        }
        auto const written = link.time_.now();
        // a request that has left arrives, even if its process ends
        auto const arrives = written + link.any_delay();
        auto run = [execute = std::move(execute), written](Link& at_store) mutable {
            auto reply = Reply(execute(*at_store.domain_, at_store.time_.now(), at_store.name_));
            count_from(reply, written);
            return reply;
        };
        if (link.loses_requests_ || link.loses_replies_) {
            if (!link.loses_requests_)
                link.time_.state()->at(arrives, [link = link_, run = std::move(run)]() mutable { (void)run(*link); });
            link.later(patience, [finish = std::move(finish), unavailable]() mutable {
                finish(Failure::unknown(unavailable, "the simulated store does not reply"));
            });
            return;
        }
        link.time_.state()->at(
            arrives,
            [link = link_, run = std::move(run), finish = std::move(finish), back = link.any_delay()]() mutable {
                link->later(
                    back, [finish = std::move(finish), reply = run(*link)]() mutable { finish(std::move(reply)); });
            });
    }

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<Link> link_;
};

Link::Link(testing::VirtualTime& time, std::shared_ptr<memory::Domain> domain, std::uint64_t seed)
    : time_(time)
    , domain_(std::move(domain))
    , name_(domain_->new_store())
    , random_(seed, 5)
{
}

std::shared_ptr<Backend> Link::backend(std::shared_ptr<Runtime> runtime)
{
    runtime_ = runtime;
    return std::make_shared<LinkBackend>(std::move(runtime), shared_from_this());
}

void Link::set_reachable(bool reachable)
{
    bool const again = reachable && !reachable_;
    if (troubled())
        last_trouble_ = time_.now();
    reachable_ = reachable;
    if (!again)
        return;
    report_reachable();
    for (auto const& one : watching_)
        later(any_delay(), [one] {
            if (auto const handler = one.lock())
                (*handler)(WatchEvent::in_force);
        });
}

void Link::set_loses(bool requests, bool replies)
{
    if (troubled())
        last_trouble_ = time_.now();
    bool const again = reachable_ && !requests && !replies && (loses_requests_ || loses_replies_);
    loses_requests_ = requests;
    loses_replies_ = replies;
    // a client opens another connection while the old one is silent
    if (again)
        report_reachable();
}

void Link::set_loses_news(bool lost)
{
    if (troubled())
        last_trouble_ = time_.now();
    loses_news_ = lost;
}

void Link::report_reachable()
{
    for (auto const& notify : on_reachable_)
        later({}, notify);
}

bool Link::knows_of_loss(std::string const& owner) const
{
    auto const told = told_of_loss_.find(owner);
    return told != told_of_loss_.end() && told->second < time_.now();
}

Instant Link::last_trouble() const
{
    return troubled() ? time_.now() : last_trouble_;
}

Clock::duration Link::any_delay()
{
    return std::chrono::microseconds(random_.between(0, longest_delay_.count()));
}

void Link::later(Clock::duration delay, Task task)
{
    time_.state()->at(time_.now() + delay, [self = shared_from_this(), task = std::move(task)]() mutable {
        if (auto const runtime = self->runtime_.lock(); runtime && !self->dead_)
            runtime->post(std::move(task));
    });
}

} // namespace tenure::simulation
