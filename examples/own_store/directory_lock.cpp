// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "directory_lock.hpp"

#include <tenure/errc.hpp>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace own_store
{

using tenure::backend::Failure;
using namespace std::chrono_literals;

Failed failed(Failure::Effect effect, std::string const& what, std::filesystem::path const& path)
{
    auto const number = errno;
    // With these it does not help to wait: a person has to act.
    bool const fatal = number == EACCES || number == EPERM || number == EROFS;
    auto const error = fatal ? tenure::errc::permission_denied : tenure::errc::store_refused;
    return Failed({effect, error, "cannot " + what + " " + path.string() + ": " + std::strerror(number), fatal});
}

DirectoryLock::DirectoryLock(
    std::filesystem::path const& directory, tenure::backend::Deadline const& not_after, std::atomic<bool> const& closed)
    : descriptor_(::open((directory / file_name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666))
{
    if (descriptor_ < 0)
        throw failed(Failure::Effect::not_sent, "open", directory / file_name);
    auto const give_up = tenure::Clock::now() + 500ms;
    while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 || closed || not_after.over(tenure::Clock::now())) {
        auto failure = Failure::dropped();
        if (closed)
            failure = Failure::not_sent(tenure::errc::closed, "the store was closed");
        else if (tenure::Clock::now() >= give_up)
            failure = Failure::not_sent(
                tenure::errc::store_unavailable,
                "another process keeps " + directory.string() + " locked: if it is stopped, continue or kill it");
        else if (!not_after.over(tenure::Clock::now())) {
            std::this_thread::sleep_for(1ms);
            continue;
        }
        ::close(descriptor_);
        throw Failed(std::move(failure));
    }
}

DirectoryLock::~DirectoryLock()
{
    // To close it is not enough: a process that was forked meanwhile has the descriptor as well.
    ::flock(descriptor_, LOCK_UN);
    ::close(descriptor_);
}

} // namespace own_store
