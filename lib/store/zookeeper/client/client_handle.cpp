// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ClientHandle: calls into the C client.
#include "client_handle.hpp"

#include "runtime/fork_guard.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace tenure::zookeeper
{

namespace
{

/// limit of responses that one turn reads, so that other sessions get their turn
constexpr int answers_per_turn = 256;

/// Requests of one turn that leave together: the servers work on them while the next ones are prepared.
constexpr int requests_per_flush = 8;

std::mutex& library_mutex()
{
    static std::mutex mutex;
    return mutex;
}

/// the handle whose call into the C client runs on this thread, because log lines do not name it
thread_local ClientHandle* calling_handle = nullptr;

} // namespace

/** Callbacks of the C client for the session, inside a call into it. */
struct ClientHandle::Callbacks {
    static void on_login(int, void const*) {}

    static void on_event(zhandle_t*, int type, int state, char const* path, void* context)
    {
        using Kind = SessionEvent::Kind;
        auto& self = *static_cast<ClientHandle*>(context);
        auto const node = [&self, path] {
            std::string text(path == nullptr ? "" : path);
            self.watched_.erase(text);
            return text;
        };
        if (type == ZOO_DELETED_EVENT)
            self.events_.emplace_back(SessionEvent{Kind::node_deleted, node()});
        else if (type == ZOO_CREATED_EVENT || type == ZOO_CHANGED_EVENT || type == ZOO_CHILD_EVENT)
            self.events_.emplace_back(SessionEvent{Kind::node_changed, node()});
        else if (type != ZOO_SESSION_EVENT)
            return;
        else if (state == ZOO_CONNECTED_STATE)
            self.events_.emplace_back(SessionEvent{Kind::connected});
        else if (state == ZOO_EXPIRED_SESSION_STATE)
            self.events_.emplace_back(SessionEvent{Kind::expired});
        else if (state == ZOO_AUTH_FAILED_STATE)
            self.events_.emplace_back(SessionEvent{Kind::authentication_failed});
        else
            self.events_.emplace_back(SessionEvent{Kind::disconnected});
    }

    static void on_log(char const* line)
    {
        if (calling_handle != nullptr && line != nullptr)
            calling_handle->log(line);
    }
};

namespace
{

/** A call into the C client: one at a time per process, with its log lines assigned to the handle. */
class LibraryCall
{
public:
    explicit LibraryCall(ClientHandle* who)
        : lock_(library_mutex())
        , before_(std::exchange(calling_handle, who))
    {
    }
    LibraryCall(LibraryCall const&) = delete;
    LibraryCall& operator=(LibraryCall const&) = delete;
    ~LibraryCall() { calling_handle = before_; }

private:
    std::lock_guard<std::mutex> lock_;
    ClientHandle* before_;
};

} // namespace

ClientHandle::ClientHandle(Runtime& runtime, Settings settings)
    : runtime_(runtime)
    , settings_(std::move(settings))
    , fork_generation_(fork_generation())
{
    LibraryCall const call(this);
    // NOLINTNEXTLINE(cppcoreguidelines-prefer-member-initializer): what it calls back needs all members
    handle_ = ::zookeeper_init2(
        settings_.servers.c_str(), &Callbacks::on_event, static_cast<int>(settings_.timeout.count()), nullptr, this,
        ZOO_NO_LOG_CLIENTENV, &Callbacks::on_log);
    if (handle_ == nullptr)
        throw std::runtime_error("the ZooKeeper client refused its settings: " + last_message_);
    // otherwise it resolves its addresses again in each call of `zookeeper_interest`
    ::zoo_set_servers_resolution_delay(handle_, -1);
    if (!settings_.login.empty())
        ::zoo_add_auth(
            handle_, "digest", settings_.login.data(), static_cast<int>(settings_.login.size()), &Callbacks::on_login,
            nullptr);
}

ClientHandle::~ClientHandle()
{
    if (fork_generation_ != fork_generation()) {
        // After fork the connection is the parent's, and a thread of the parent may have held the lock: only this copy
        // is dropped.
        if (descriptor_ >= 0)
            ::close(descriptor_);
        return;
    }
    LibraryCall const call(this);
    // While the C client assumes a connection, its close waits for the server.
    if (has_socket())
        cut();
    ::zookeeper_close(handle_);
}

void ClientHandle::log(std::string_view line)
{
    auto const level = line.find(":ZOO_");
    if (level == std::string_view::npos)
        return;
    auto const kind = line.substr(level + 5);
    if (!kind.starts_with("ERROR@") && !kind.starts_with("WARN@"))
        return;
    auto const text = kind.find(": ");
    auto const words = text == std::string_view::npos ? kind : kind.substr(text + 2);
    // warnings describe the reaction to an error, not the error
    if (kind.starts_with("ERROR@"))
        last_message_ = std::string(words);
    if (runtime_.logs(LogLevel::debug))
        runtime_.log(LogLevel::debug, settings_.name + ": " + std::string(words));
}

void ClientHandle::ask(Request request, ResponseHandler handler)
{
    auto const id = ++last_id_;
    auto& asked = place(id);
    asked.request = std::move(request);
    asked.handler = std::move(handler);
    asked.sent = runtime_.now();
    if (fork_generation_ != fork_generation()) {
        // the connection is the parent's
        finish(id, {ZINVALIDSTATE});
        return;
    }
    LibraryCall const call(this);
    bool const was_connected = ::zoo_state(handle_) == ZOO_CONNECTED_STATE;
    bool const is_alone = pending_.size() == 1;
    if (was_connected)
        set_cork(!is_alone);
    auto const* const acl = settings_.login.empty() ? &ZOO_OPEN_ACL_UNSAFE : &ZOO_CREATOR_ALL_ACL;
    int const code = was_connected ? asked.submit(handle_, acl) : ZINVALIDSTATE;
    if (code != ZOK && pending_.contains(id))
        finish(id, {code});
    wrote(was_connected);
}

void ClientHandle::note_watch(Request const& request, int code)
{
    using Kind = Request::Kind;
    if (request.kind == Kind::unwatch)
        watched_.erase(request.path);
    else if (request.watch && (code == ZOK || (code == ZNONODE && request.kind == Kind::exists)))
        watched_.insert(request.path);
}

void ClientHandle::forget_watches() noexcept
{
    // A server forgets its watches with the connection. The C client would set all of them again on the next one, in
    // one request that may be longer than the server accepts: it would close that connection, and each later one. The
    // owners of the watches set them again.
    for (auto const& path : watched_)
        ::zoo_aremove_all_watches(handle_, path.c_str(), ZWATCHTYPE_ANY, 1, nullptr, nullptr);
    watched_.clear();
}

ClientHandle::Pending& ClientHandle::place(std::uint64_t id)
{
    if (spare_.empty())
        return *(pending_[id] = std::make_unique<Pending>(this, id));
    spare_.key() = id;
    auto& used_again = *spare_.mapped();
    used_again.id = id;
    // everything else is written before it is read
    used_again.results = {};
    return *pending_.insert(std::move(spare_)).position->second;
}

void ClientHandle::finish(std::uint64_t id, Response response)
{
    auto found = pending_.extract(id);
    if (found.empty() || !found.mapped()->handler)
        return;
    note_watch(found.mapped()->request, response.code);
    response.sent = found.mapped()->sent;
    response.answered = runtime_.now();
    events_.emplace_back(Finished{std::move(found.mapped()->handler), std::move(response)});
    spare_ = std::move(found);
}

ClientHandle::Interest ClientHandle::interest()
{
    LibraryCall const call(this);
    // connecting takes several calls: only a connection that exists before and after a call is the same
    bool const was_connected = identity_ != 0 && !sending_failed_ && ::zoo_state(handle_) == ZOO_CONNECTED_STATE;
    Interest interest;
    int events = 0;
    timeval limit{};
    int descriptor = -1;
    // The rest of the requests to a closed socket would be mixed up with those of the next connection.
    if (std::exchange(sending_failed_, false) && ::zookeeper_interest(handle_, &descriptor, &events, &limit) == ZOK &&
        descriptor >= 0) {
        descriptor_ = descriptor;
        cut();
        descriptor = -1;
    }
    int const code = ::zookeeper_interest(handle_, &descriptor, &events, &limit);
    interest.over = code == ZINVALIDSTATE;
    interest.timeout = std::chrono::seconds(limit.tv_sec) + std::chrono::microseconds(limit.tv_usec);
    bool const same = was_connected && descriptor == descriptor_ && ::zoo_state(handle_) == ZOO_CONNECTED_STATE;
    descriptor_ = descriptor;
    if (!has_socket()) {
        descriptor_ = -1;
        identity_ = 0;
        return interest;
    }
    if (!same)
        if (auto const identity = identity_of_socket(); identity != std::exchange(identity_, identity))
            corked_ = false;
    // the call above also writes pings, which are sent while no answer is pending
    if (unflushed_ > 0 || pending_.empty())
        flush();
    interest.descriptor = descriptor_;
    interest.identity = identity_;
    interest.write = (events & ZOOKEEPER_WRITE) != 0;
    return interest;
}

void ClientHandle::process(bool readable, bool writable)
{
    LibraryCall const call(this);
    if (!watched_.empty() && ::zoo_state(handle_) != ZOO_CONNECTED_STATE)
        forget_watches(); // before the answer of the next server
    if (writable)
        unflushed_ = std::max(unflushed_, 1);
    int const events = (readable ? ZOOKEEPER_READ : 0) | (writable ? ZOOKEEPER_WRITE : 0);
    int code = ::zookeeper_process(handle_, events);
    // It reads one answer at a time. Without pending requests hardly anything will come, and waiting for it costs no
    // more than checking.
    for (int i = 1; readable && code == ZOK && i < answers_per_turn && !pending_.empty(); ++i)
        code = ::zookeeper_process(handle_, ZOOKEEPER_READ);
}

std::uint64_t ClientHandle::identity_of_socket() const noexcept
{
    struct stat status{};
    return ::fstat(descriptor_, &status) == 0 ? status.st_ino : 0;
}

bool ClientHandle::has_socket() const noexcept
{
    int const state = ::zoo_state(handle_);
    return descriptor_ >= 0 && state > 0 && state != ZOO_NOTCONNECTED_STATE;
}

void ClientHandle::set_cork(bool wanted) noexcept
{
    // It writes each length and each request separately, and each is a packet that wakes the server, which is expensive
    // for many requests. A lone request arrives sooner without the cork, because the server wakes while the rest is
    // written.
    if (corked_ == wanted || !has_socket())
        return;
    int const on = wanted ? 1 : 0;
    if (::setsockopt(descriptor_, IPPROTO_TCP, TCP_CORK, &on, sizeof on) == 0)
        corked_ = wanted;
}

void ClientHandle::wrote(bool was_connected) noexcept
{
    if (corked_ && ++unflushed_ >= requests_per_flush)
        flush();
    if (was_connected && ::zoo_state(handle_) == ZOO_NOTCONNECTED_STATE)
        sending_failed_ = true;
}

void ClientHandle::flush() noexcept
{
    unflushed_ = 0;
    if (!corked_)
        return;
    // sends the buffered bytes, and keeps the cork in place (see tcp(7))
    int const on = 1;
    ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void ClientHandle::cut() noexcept
{
    int const nowhere = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (nowhere >= 0) {
        ::dup3(nowhere, descriptor_, O_CLOEXEC);
        ::close(nowhere);
    } else {
        ::shutdown(descriptor_, SHUT_RDWR);
    }
    ::zookeeper_process(handle_, ZOOKEEPER_READ);
    descriptor_ = -1;
    identity_ = 0;
    corked_ = false;
}

void ClientHandle::drop_connection()
{
    LibraryCall const call(this);
    if (has_socket())
        cut();
}

void ClientHandle::end_session()
{
    if (fork_generation_ != fork_generation())
        return;
    auto const waits_for = interest();
    LibraryCall const call(this);
    if (::zoo_state(handle_) != ZOO_CONNECTED_STATE || waits_for.descriptor < 0 || waits_for.write)
        return;
    // length 8, a request number that the C client does not use, operation -11
    constexpr std::array<unsigned char, 12> frame{0, 0, 0, 8, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xf5};
    // if the server misses it, the session ends by its timeout
    [[maybe_unused]] auto const sent =
        ::send(waits_for.descriptor, frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void ClientHandle::set_servers(std::string const& servers)
{
    LibraryCall const call(this);
    ::zoo_set_servers(handle_, servers.c_str());
}

void ClientHandle::fail_pending()
{
    // requests are kept for the C client, which answers them once more when the handle is destroyed
    for (auto& [id, pending] : pending_)
        if (pending->handler)
            events_.emplace_back(
                Finished{std::exchange(pending->handler, nullptr), Response{ZCLOSING, pending->sent, runtime_.now()}});
}

void ClientHandle::take(std::vector<Event>& into)
{
    into.clear();
    into.swap(events_);
}

bool ClientHandle::connected() const
{
    return !sending_failed_ && ::zoo_state(handle_) == ZOO_CONNECTED_STATE;
}

std::chrono::milliseconds ClientHandle::timeout() const
{
    return std::chrono::milliseconds(::zoo_recv_timeout(handle_));
}

std::int64_t ClientHandle::session_id() const
{
    return ::zoo_client_id(handle_)->client_id;
}

Instant ClientHandle::oldest_unanswered() const noexcept
{
    return pending_.empty() ? Instant::max() : pending_.begin()->second->sent;
}

} // namespace tenure::zookeeper
