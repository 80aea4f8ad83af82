// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Backend over a directory.
#include "backend.hpp"

#include "operations.hpp"

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
        , watches_(std::make_shared<Watches>(runtime_))
    {
    }

    [[nodiscard]] Capabilities capabilities() const noexcept override
    {
        return {
            .keeps_line = true,
            .examines = true,
            .no_quarantine = nullptr,
            .no_detach = nullptr,
            .no_shares = nullptr,
            .no_list = nullptr};
    }

    void claim(ClaimRequest request, ReplyHandler<ClaimReply> handler) override
    {
        start(&file::claim, std::move(request), std::move(handler));
    }
    void renew(std::vector<RenewRequest> requests, RenewHandler handler) override
    {
        std::vector<RenewAnswer> answers;
        auto failure = open();
        try {
            if (!failure)
                answers = file::renew(*session_, requests);
        } catch (std::exception const& error) {
            failure = session_->explain(error);
        }
        if (failure)
            for (auto const& request : requests)
                answers.emplace_back(answers.size(), request.claim->mark.ended ? Failure::dropped() : *failure);
        runtime_->post([answers = std::move(answers), handler = std::move(handler)]() mutable { handler(answers); });
    }
    void release(ReleaseRequest request, ReplyHandler<ReleaseReply> handler) override
    {
        start(&file::release, std::move(request), std::move(handler));
    }
    void withdraw(WithdrawRequest request, ReplyHandler<WithdrawReply> handler) override
    {
        start(&file::withdraw, std::move(request), std::move(handler));
    }
    void evict(EvictRequest request, ReplyHandler<EvictReply> handler) override
    {
        start(&file::evict, std::move(request), std::move(handler));
    }
    [[nodiscard]] std::unique_ptr<Watch> watch(KeyRangePtr range, WatchAs as, WatchHandler handler) override
    {
        static_cast<void>(open());
        return watches_->watch(line_of(*range), as, std::move(handler));
    }
    void leave_line(KeyRangePtr range) override { watches_->leave(line_of(*range)); }
    void ready(Deadline not_after, ReplyHandler<ReadyReply> handler) override
    {
        start(&file::ready, std::move(not_after), std::move(handler));
    }
    void inspect(InspectRequest request, ReplyHandler<InspectReply> handler) override
    {
        start(&file::inspect, std::move(request.range), std::move(handler));
    }
    void list(ListRequest request, ReplyHandler<ListReply> handler) override
    {
        start(&file::list, std::move(request), std::move(handler));
    }
    void examine(std::chrono::milliseconds, Deadline, ReplyHandler<Findings> handler) override
    {
        auto const failure = open();
        answer(
            *runtime_,
            failure ? Findings{{Finding::Severity::error, "directory", failure->detail, "no lease can be acquired"}}
                    : file::examine(*session_),
            std::move(handler));
    }
    void on_reachable(std::function<void()>) override {}
    void shortest_ttl(std::chrono::milliseconds) override {}
    [[nodiscard]] std::string describe() const override { return file::describe(config_); }

    void shutdown() noexcept override
    {
        closed_ = true;
        close();
    }

private:
    /** Opens the directory if it is not open, or was replaced. Returns why it cannot be used. */
    std::optional<Failure> open()
    try {
        if (closed_)
            return Failure::not_sent(errc::closed, "the store was closed");
        if (fork_generation() != generation_)
            return Failure::not_sent(errc::forked, "the directory was opened by a parent process");
        if (session_ != nullptr && session_->lost) {
            runtime_->log(
                LogLevel::warning, describe() + ": the directory was deleted or replaced; all leases are lost");
            close();
            watches_->interrupt();
        }
        if (session_ != nullptr)
            return std::nullopt;
        session_ = std::make_shared<Session>(config_, runtime_);
        watches_->begin(session_);
        return std::nullopt;
    } catch (std::exception const& error) {
        auto failure = failure_of(error);
        failure.effect = Failure::Effect::not_sent;
        return failure;
    }
    void close() noexcept
    {
        watches_->close();
        if (session_ != nullptr)
            session_->close();
        session_.reset();
    }

    template <class Reply, class Request>
    void start(Reply (*steps)(Context const&, Request const&), Request request, ReplyHandler<Reply> handler)
    {
        if (auto failure = open())
            return answer(*runtime_, Reply(std::move(*failure)), std::move(handler));
        auto run = [context = Context{session_, watches_}, steps, request = std::move(request)] {
            return steps(context, request);
        };
        attempt<Reply>(session_, std::move(run), std::move(handler));
    }

    std::shared_ptr<Runtime> runtime_;
    FileConfig config_;
    std::shared_ptr<Watches> watches_;
    /// null until it is needed, and after the directory was replaced
    SessionPtr session_;
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
