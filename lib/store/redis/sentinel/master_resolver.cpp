// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// MasterResolver: when the sentinels are queried, and who gets the result.
#include "master_resolver.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <ranges>
#include <utility>

namespace tenure::redis
{

namespace
{

using namespace std::chrono_literals;

// Wait for other sentinels after the first answer, unless connections have little time.
constexpr auto grace = 500ms;
// Most sentinels may not know of a failover yet when a hint arrives: first pause between queries, which doubles, and
// the limit of queries.
constexpr auto first_hint_pause = 50ms;
constexpr int hint_rounds = 6;
// Interval of queries while no subscription is in force.
constexpr auto unwatched_period = 10s;
// Delay of the search for another sentinel when a subscription ends. After some that ended early it doubles, up to the
// interval above.
constexpr auto unwatched_pause = 1s;
constexpr int losses_before_it_doubles = 3;

} // namespace

MasterResolver::MasterResolver(std::shared_ptr<Runtime> runtime, Settings settings, SentinelConnect connect)
    : runtime_(std::move(runtime))
    , settings_(std::move(settings))
    , connect_(std::move(connect))
    , timer_(*runtime_)
{
}

MasterResolver::~MasterResolver()
{
    close();
}

std::uint64_t MasterResolver::find(Handler handler)
{
    auto const request = ++last_request_;
    requests_.emplace(request, std::move(handler));
    if (closed_)
        runtime_->post([self = shared_from_this()] {
            self->answer_requests(StreamError{make_error_code(errc::closed), "the store was closed", false});
        });
    else
        start_query();
    return request;
}

void MasterResolver::follow(std::weak_ptr<void> owner, std::function<void(ServerAddress const&)> handler)
{
    std::erase_if(followers_, [](Follower const& follower) { return follower.owner.expired(); });
    followers_.push_back({std::move(owner), std::move(handler)});
}

void MasterResolver::close() noexcept
{
    // the destructor runs on any thread, and must have nothing left to do
    if (closed_)
        return;
    closed_ = true;
    timer_.cancel();
    if (auto const query = std::exchange(query_, nullptr))
        query->cancel();
    if (listener_ != nullptr)
        listener_->close();
    followers_.clear();
}

void MasterResolver::start_query()
{
    if (closed_ || query_ != nullptr)
        return;
    timer_.cancel();
    SentinelQuery::Request request;
    request.rules.master_name = settings_.master_name;
    for (auto const& sentinel : settings_.sentinels)
        request.sentinels.push_back({sentinel, {}});
    request.rules.configured = request.sentinels.size();
    request.sentinels.insert(request.sentinels.end(), learned_.begin(), learned_.end());
    request.rules.known_epoch = epoch_;
    request.rules.limit = runtime_->now() + settings_.connect_timeout * 3 / 4;
    request.rules.grace = std::min<Instant::duration>(grace, settings_.connect_timeout / 4);
    query_ = std::make_shared<SentinelQuery>(
        runtime_, connect_, std::move(request), [weak = weak_from_this()](SentinelQuery::Result result) {
            if (auto const self = weak.lock())
                self->concluded(std::move(result));
        });
    query_->start();
}

void MasterResolver::concluded(SentinelQuery::Result result)
{
    if (closed_)
        return;
    query_.reset();
    auto const verdict = result.verdict;
    auto const* const master = std::get_if<MasterVote::Found>(&verdict);
    if (master != nullptr)
        found(*master);
    if (closed_)
        return;
    if (!result.answered.empty())
        listen(std::move(result));
    bool const hint_is_open = hint_ && (master == nullptr || master->address != *hint_);
    if (hint_is_open && hint_rounds_ < hint_rounds) {
        query_later(first_hint_pause * (1 << hint_rounds_++));
    } else {
        hint_.reset();
        if (listener_ == nullptr || !listener_->in_force())
            query_later(unwatched_period);
    }
    if (std::exchange(again_, false))
        start_query();
    if (master != nullptr)
        answer_requests(master->address);
    else
        answer_requests(std::get<StreamError>(verdict));
}

void MasterResolver::listen(SentinelQuery::Result&& result)
{
    learned_ = std::move(result.learned);
    if (listener_ == nullptr) {
        FailoverListener::Handlers handlers;
        handlers.switched = [weak = weak_from_this()](ServerAddress address) {
            if (auto const self = weak.lock())
                self->hinted(std::move(address));
        };
        handlers.in_force = [weak = weak_from_this()] {
            auto const self = weak.lock();
            if (!self)
                return;
            self->watched_since_ = self->runtime_->now();
            self->again_ = self->query_ != nullptr;
            self->start_query();
        };
        handlers.lost = [weak = weak_from_this()] {
            // soon, to listen to another sentinel
            if (auto const self = weak.lock())
                self->unwatched();
        };
        listener_ = std::make_shared<FailoverListener>(
            runtime_, connect_, settings_.master_name, settings_.name, std::move(handlers));
    }
    listener_->listen(std::move(result.answered), result.silent, master_);
}

void MasterResolver::unwatched()
{
    auto const now = runtime_->now();
    bool const lasted = watched_since_ && now - *watched_since_ >= unwatched_period;
    watched_since_.reset();
    if (lasted)
        lost_early_ = 0;
    int const doublings = std::max(lost_early_ - losses_before_it_doubles + 1, 0);
    lost_early_ = std::min(lost_early_ + 1, 8);
    if (query_ == nullptr)
        query_later(std::min<std::chrono::milliseconds>(unwatched_pause * (1 << doublings), unwatched_period));
}

void MasterResolver::found(MasterVote::Found const& found)
{
    epoch_ = found.config_epoch;
    if (master_ == found.address)
        return;
    bool const is_first = !master_;
    master_ = found.address;
    runtime_->log(
        is_first ? LogLevel::debug : LogLevel::warning,
        settings_.name + ": the master is " + (is_first ? "" : "now ") + to_string(found.address) + " (config epoch " +
            std::to_string(found.config_epoch) + ", " + std::to_string(found.answered) + " of " +
            std::to_string(found.sentinels) + " sentinels asked)");
    // a copy, because handlers may begin and end connections
    auto const followers = followers_;
    for (auto const& follower : std::views::reverse(followers))
        if (auto const alive = follower.owner.lock())
            follower.handler(found.address);
}

void MasterResolver::hinted(ServerAddress address)
{
    if (closed_ || address == master_)
        return;
    hint_ = std::move(address);
    hint_rounds_ = 0;
    start_query();
}

void MasterResolver::answer_requests(Answer const& answer)
{
    // requests added or forgotten meanwhile do not get this answer
    auto const last = last_request_;
    while (!requests_.empty() && requests_.begin()->first <= last) {
        auto const request = requests_.extract(requests_.begin());
        request.mapped()(answer);
    }
}

} // namespace tenure::redis
