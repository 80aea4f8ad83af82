// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "file_backend.hpp"

#include "directory.hpp"
#include "file_thread.hpp"
#include "file_watch.hpp"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;

namespace own_store
{

using namespace tenure;
using namespace tenure::backend;

namespace
{

/** Hands each request to the thread that may block, and its answer to the engine. */
class FileBackend final : public Backend
{
public:
    FileBackend(std::shared_ptr<Runtime> runtime, std::filesystem::path path)
        : runtime_(std::move(runtime))
        , directory_(std::make_shared<Directory>(std::move(path)))
        , thread_(runtime_)
    {
    }

    [[nodiscard]] Capabilities capabilities() const noexcept override
    {
        return {.examines = true, .no_quarantine = nullptr, .no_detach = nullptr};
    }
    void claim(ClaimRequest request, ReplyHandler<ClaimReply> handler) override
    {
        ask([request = std::move(request)](Directory& in) { return in.claim(request); }, std::move(handler));
    }
    void renew(std::vector<RenewRequest> requests, RenewHandler handler) override
    {
        ask([requests = std::move(requests)](Directory& in) { return in.renew(requests); },
            [handler = std::move(handler)](std::vector<RenewAnswer> answers) { handler(answers); });
    }
    void release(ReleaseRequest request, ReplyHandler<ReleaseReply> handler) override
    {
        ask([request = std::move(request)](Directory& in) { return in.release(request); }, std::move(handler));
    }
    void withdraw(WithdrawRequest request, ReplyHandler<WithdrawReply> handler) override
    {
        ask([request = std::move(request)](Directory& in) { return in.withdraw(request); }, std::move(handler));
    }
    [[nodiscard]] std::unique_ptr<Watch> watch(KeyRangePtr, WatchAs, WatchHandler handler) override
    {
        return watch_file(runtime_, directory_->released_file(), std::move(handler));
    }
    void ready(Deadline not_after, ReplyHandler<ReadyReply> handler) override
    {
        ask([not_after](Directory& in) { return in.ready(not_after); }, std::move(handler));
    }
    void inspect(InspectRequest request, ReplyHandler<InspectReply> handler) override
    {
        ask([request = std::move(request)](Directory& in) { return in.inspect(request); }, std::move(handler));
    }
    void evict(EvictRequest request, ReplyHandler<EvictReply> handler) override
    {
        ask([request = std::move(request)](Directory& in) { return in.evict(request); }, std::move(handler));
    }
    void examine(std::chrono::milliseconds, Deadline not_after, ReplyHandler<Findings> handler) override
    {
        ask([not_after](Directory& in) { return findings(in.ready(not_after)); }, std::move(handler));
    }

    // A directory is there or not: it does not come back as a connection does.
    void on_reachable(std::function<void()>) override {}
    void shortest_ttl(std::chrono::milliseconds) override {}

    [[nodiscard]] std::string describe() const override { return "file://" + directory_->path().string(); }
    void shutdown() noexcept override
    {
        // Requests that have not begun are answered as not sent. One call of the file system may be under way; it ends,
        // and has its answer. If yours may hang, do not wait for it: answer with an unknown effect.
        directory_->close();
        thread_.end();
    }

private:
    template <class Call, class Then>
    void ask(Call call, Then then)
    {
        thread_.run([in = directory_, call = std::move(call)] { return call(*in); }, std::move(then));
    }

    [[nodiscard]] static Findings findings(ReadyReply const& reply)
    {
        if (auto const* const failure = std::get_if<Failure>(&reply))
            return {{Finding::Severity::error, "directory", failure->detail, "make it writable for this user"}};
        return {
            {Finding::Severity::ok, "directory", "can be locked and written; shared by processes of this machine", ""}};
    }

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<Directory> directory_;
    FileThread thread_;
};

} // namespace

std::shared_ptr<Backend> make_file_backend(std::shared_ptr<Runtime> runtime, std::filesystem::path directory)
{
    return std::make_shared<FileBackend>(std::move(runtime), std::move(directory));
}

Store open_directory(
    asio::any_io_executor const& executor, std::filesystem::path directory, StoreOptions const& options)
{
    auto runtime = make_runtime(executor, options);
    auto backend = make_file_backend(runtime, std::move(directory));
    return {std::move(runtime), std::move(backend), options};
}

} // namespace own_store
