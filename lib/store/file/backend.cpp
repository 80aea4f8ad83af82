// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Backend over a directory.
#include "backend.hpp"

#include "config.hpp"
#include "operations.hpp"
#include "runtime/fork_guard.hpp"
#include "session.hpp"
#include "watches.hpp"

#include <tenure/errc.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::file
{

namespace
{

/** Opens the directory when first needed, and again after it was replaced. */
class FileBackend final : public Backend
{
public:
    FileBackend(std::shared_ptr<Runtime> runtime, FileConfig config)
        : runtime_(std::move(runtime))
        , config_(std::move(config))
        , description_(file::describe(config_))
        , watches_(std::make_shared<Watches>(runtime_))
    {
    }

    [[nodiscard]] Capabilities capabilities() const noexcept override
    {
        return {.keeps_line = true, .examines = true, .no_quarantine = nullptr, .no_detach = nullptr};
    }

    void claim(ClaimRequest request, ReplyHandler<ClaimReply> handler) override
    {
        start<ClaimReply>(&file::claim, std::move(request), std::move(handler));
        if (session_ != nullptr)
            session_->sweep();
    }
    void renew(std::vector<RenewRequest> requests, RenewHandler handler) override
    {
        std::vector<RenewAnswer> answers;
        if (auto const failure = open())
            for (auto const& request : requests)
                answers.push_back({answers.size(), request.claim->mark.ended ? Failure::dropped() : *failure});
        else
            answers = file::renew(*session_, requests);
        runtime_->post([answers = std::move(answers), handler = std::move(handler)]() mutable { handler(answers); });
    }
    void release(ReleaseRequest request, ReplyHandler<ReleaseReply> handler) override
    {
        start<ReleaseReply>(&file::release, std::move(request), std::move(handler));
    }
    void withdraw(WithdrawRequest request, ReplyHandler<WithdrawReply> handler) override
    {
        start<WithdrawReply>(&file::withdraw, std::move(request), std::move(handler));
    }
    void evict(EvictRequest request, ReplyHandler<EvictReply> handler) override
    {
        start<EvictReply>(&file::evict, std::move(request), std::move(handler));
    }
    [[nodiscard]] std::unique_ptr<Watch>
    watch(KeyRangePtr range, WatchAs as, std::function<void(WatchEvent)> handler) override
    {
        static_cast<void>(open());
        return watches_->watch(line_of(*range), as, std::move(handler));
    }
    void leave_line(KeyRangePtr range) override { watches_->leave(line_of(*range)); }
    void ready(Deadline, ReplyHandler<ReadyReply> handler) override
    {
        answer(std::move(handler), [](Session&) -> ReadyReply { return Ready{}; });
    }
    void inspect(KeyRangePtr range, Deadline, ReplyHandler<InspectReply> handler) override
    {
        answer(std::move(handler), [range](Session& session) { return file::inspect(session, *range); });
    }
    void examine(std::chrono::milliseconds ttl, Deadline, ReplyHandler<Findings> handler) override
    {
        if (auto const failure = open())
            reply<Findings>(
                {{Finding::Severity::error, "directory", failure->detail, "no lease can be acquired"}},
                std::move(handler));
        else
            reply(file::examine(*session_, ttl), std::move(handler));
    }
    void on_reachable(std::function<void()> handler) override { on_reachable_ = std::move(handler); }
    void shortest_ttl(std::chrono::milliseconds) override {}
    [[nodiscard]] std::string describe() const override { return description_; }

    void shutdown() noexcept override
    {
        closed_ = true;
        watches_->close();
        if (session_ != nullptr)
            session_->close();
        session_.reset();
    }

private:
    /** Opens the directory if it is not open, or was replaced. Returns why it cannot be used. */
    [[nodiscard]] std::optional<Failure> open()
    {
        if (closed_)
            return Failure::not_sent(errc::closed, "the store was closed");
        if (fork_generation() != generation_)
            return Failure::not_sent(errc::forked, "the directory was opened by a parent process");
        if (session_ != nullptr && session_->lost()) {
            runtime_->log(
                LogLevel::warning, description_ + ": the directory was deleted or replaced; all leases are lost");
            session_->close();
            session_.reset();
            watches_->interrupt();
        }
        if (session_ != nullptr)
            return std::nullopt;
        auto opened = Session::open(config_, runtime_);
        if (auto* const failure = std::get_if<Failure>(&opened)) {
            failure->effect = Failure::Effect::not_sent;
            failed_ = true;
            return std::move(*failure);
        }
        session_ = std::get<SessionPtr>(std::move(opened));
        watches_->begin(session_);
        if (std::exchange(failed_, false) && on_reachable_)
            runtime_->post([handler = on_reachable_] { handler(); });
        return std::nullopt;
    }

    template <class Reply>
    void reply(Reply answer, ReplyHandler<Reply> handler)
    {
        runtime_->post([answer = std::move(answer), handler = std::move(handler)]() mutable {
            std::move(handler)(std::move(answer));
        });
    }
    template <class Reply, class Ask>
    void answer(ReplyHandler<Reply> handler, Ask ask)
    {
        if (session_ != nullptr)
            static_cast<void>(session_->intact());
        if (auto failure = open())
            reply<Reply>(std::move(*failure), std::move(handler));
        else
            reply<Reply>(ask(*session_), std::move(handler));
    }
    /** Starts a request of several steps. Its reply is posted, because most end within this call. */
    template <class Reply, class Request>
    void start(store::Request<Reply> (*steps)(Context, Request), Request request, ReplyHandler<Reply> handler)
    {
        if (auto failure = open()) {
            reply<Reply>(std::move(*failure), std::move(handler));
            return;
        }
        steps({session_, watches_}, std::move(request))
            .start([runtime = runtime_, handler = std::move(handler)](Reply&& answer) mutable {
                runtime->post([answer = std::move(answer), handler = std::move(handler)]() mutable {
                    std::move(handler)(std::move(answer));
                });
            });
    }

    std::shared_ptr<Runtime> runtime_;
    FileConfig config_;
    std::string description_;
    std::shared_ptr<Watches> watches_;
    /// null until it is needed, and after the directory was replaced
    SessionPtr session_;
    /// of `on_reachable`
    std::function<void()> on_reachable_;
    /// the last attempt to open the directory failed
    bool failed_ = false;
    bool closed_ = false;
    std::uint64_t generation_ = fork_generation();
};

} // namespace

std::shared_ptr<Backend> make_backend(std::shared_ptr<Runtime> runtime, FileConfig const& config)
{
    check_config(config);
    return std::make_shared<FileBackend>(std::move(runtime), config);
}

} // namespace tenure::file
