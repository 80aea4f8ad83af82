// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
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
// Delay of the search for another sentinel when a subscription ends.
constexpr auto unwatched_pause = 1s;

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
    auto const question = ++last_question_;
    questions_.emplace(question, std::move(handler));
    if (closed_)
        runtime_->post([self = shared_from_this()] {
            self->answer_questions(StreamError{make_error_code(errc::closed), "the store was closed", false});
        });
    else
        inquire();
    return question;
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
    if (auto const inquiry = std::exchange(inquiry_, nullptr))
        inquiry->cancel();
    if (watch_ != nullptr)
        watch_->close();
    followers_.clear();
}

void MasterResolver::inquire()
{
    if (closed_ || inquiry_ != nullptr)
        return;
    timer_.cancel();
    SentinelQuery::Question question;
    question.rules.master_name = settings_.master_name;
    for (auto const& sentinel : settings_.sentinels)
        question.sentinels.push_back({sentinel, {}});
    question.rules.configured = question.sentinels.size();
    question.sentinels.insert(question.sentinels.end(), learned_.begin(), learned_.end());
    question.rules.known_epoch = epoch_;
    question.rules.limit = runtime_->now() + settings_.connect_timeout * 3 / 4;
    question.rules.grace = std::min<Instant::duration>(grace, settings_.connect_timeout / 4);
    inquiry_ = std::make_shared<SentinelQuery>(
        runtime_, connect_, std::move(question), [weak = weak_from_this()](SentinelQuery::Result result) {
            if (auto const self = weak.lock())
                self->concluded(std::move(result));
        });
    inquiry_->start();
}

void MasterResolver::concluded(SentinelQuery::Result result)
{
    if (closed_)
        return;
    inquiry_.reset();
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
        inquire_later(first_hint_pause * (1 << hint_rounds_++));
    } else {
        hint_.reset();
        if (watch_ == nullptr || !watch_->in_force())
            inquire_later(unwatched_period);
    }
    if (std::exchange(again_, false))
        inquire();
    if (master != nullptr)
        answer_questions(master->address);
    else
        answer_questions(std::get<StreamError>(verdict));
}

void MasterResolver::listen(SentinelQuery::Result&& result)
{
    learned_ = std::move(result.learned);
    if (watch_ == nullptr) {
        FailoverListener::Handlers handlers;
        handlers.switched = [weak = weak_from_this()](ServerAddress address) {
            if (auto const self = weak.lock())
                self->hinted(std::move(address));
        };
        handlers.in_force = [weak = weak_from_this()] {
            auto const self = weak.lock();
            if (!self)
                return;
            self->again_ = self->inquiry_ != nullptr;
            self->inquire();
        };
        handlers.lost = [weak = weak_from_this()] {
            // soon, to listen to another sentinel
            if (auto const self = weak.lock(); self && self->inquiry_ == nullptr)
                self->inquire_later(unwatched_pause);
        };
        watch_ = std::make_shared<FailoverListener>(
            runtime_, connect_, settings_.master_name, settings_.name, std::move(handlers));
    }
    watch_->listen(std::move(result.answered), result.silent, master_);
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
    inquire();
}

void MasterResolver::answer_questions(Answer const& answer)
{
    // requests added or forgotten meanwhile do not get this answer
    auto const last = last_question_;
    while (!questions_.empty() && questions_.begin()->first <= last) {
        auto const question = questions_.extract(questions_.begin());
        question.mapped()(answer);
    }
}

} // namespace tenure::redis
