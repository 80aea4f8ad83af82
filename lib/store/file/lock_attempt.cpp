// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// LockAttempt: locks of other processes, and the search for one that keeps its lock.
#include "lock_attempt.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <utility>

#include <fcntl.h>
#include <sched.h>

namespace tenure::file
{

using namespace std::chrono_literals;

namespace
{

constexpr auto patience = 50ms;
constexpr auto first_pause = 50us;
constexpr auto longest_pause = 2ms;
constexpr int yields = 4;

/** True if the process is stopped, by SIGSTOP or by a debugger. */
bool is_stopped(int pid)
{
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(file, line);
    auto const name_end = line.rfind(')');
    return name_end != std::string::npos && name_end + 2 < line.size() &&
           (line[name_end + 2] == 'T' || line[name_end + 2] == 't');
}

} // namespace

LockAttempt::LockAttempt(std::shared_ptr<Session> session, std::string stem, Area area, LockHandler handler)
    : session_(std::move(session))
    , stem_(std::move(stem))
    , area_(area)
    , handler_(std::move(handler))
    , give_up_at_(session_->runtime().now() + patience)
    , pause_(first_pause)
{
}

std::variant<LockedArea, Failure> LockAttempt::try_once()
{
    constexpr int reopenings = 3;
    for (int opened = 0; opened < reopenings; ++opened) {
        auto found = session_->ranges().find_or_make(stem_, session_->runtime());
        if (auto* const failure = std::get_if<Failure>(&found))
            return std::move(*failure);
        file_ = std::get<RangeFilePtr>(std::move(found));
        session_->holder().note(file_->inode());
        for (int yielded = 0; !file_->file().try_lock(area_);) {
            if (errno != EAGAIN && errno != EACCES)
                return failed_call(errno, "cannot lock a file in " + session_->directory().path());
            if (++yielded > yields)
                return LockedArea();
            ::sched_yield();
        }
        LockedArea locked(file_, area_);
        if (!file_->file().deleted())
            return locked;
        session_->ranges().forget(*file_);
    }
    return LockedArea();
}

void LockAttempt::run()
{
    if (session_->closed()) {
        handler_(Failure::not_sent(errc::closed, "the store was closed"));
        return;
    }
    auto tried = try_once();
    if (std::holds_alternative<Failure>(tried) || std::get<LockedArea>(tried).file() != nullptr) {
        handler_(std::move(tried));
        return;
    }
    auto const now = session_->runtime().now();
    if (now >= give_up_at_) {
        handler_(stuck());
        return;
    }
    session_->runtime().call_at(now + pause_, [self = shared_from_this()] { self->run(); });
    pause_ = std::min<Clock::duration>(2 * pause_, longest_pause);
}

Failure LockAttempt::stuck() const
{
    namespace fs = std::filesystem;
    auto const& directory = session_->directory();
    std::string culprit = "an unknown process";
    std::error_code error;
    auto const folder = "/proc/self/fd/" + std::to_string(directory.holders().number());
    for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
        auto const name = entry->path().filename().string();
        auto const file = directory.open_file(directory.holders(), name, O_RDONLY);
        auto const header = file.read<HolderHeader>(0);
        if (header.locks != file_->inode() || name == session_->holder().id().text() ||
            !file.locked_elsewhere(whole_file))
            continue;
        bool const stopped = is_stopped(header.pid);
        culprit = header.program.data() + (" (pid " + std::to_string(header.pid)) + (stopped ? ", stopped)" : ")");
        if (stopped)
            break;
    }
    return Failure::not_sent(
        errc::store_unavailable, directory.path() + ": the file of '" + stem_ + "' stays locked, by " + culprit +
                                     ": continue or end that process");
}

} // namespace tenure::file
