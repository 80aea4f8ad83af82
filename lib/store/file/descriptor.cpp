// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Descriptor: reading, writing and locks.
#include "descriptor.hpp"

#include <tenure/errc.hpp>

#include <boost/system/system_category.hpp>

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace tenure::file
{

namespace
{

struct flock lock_of(short type, Area area) noexcept
{
    struct flock lock{};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = area.begin;
    lock.l_len = area.length;
    return lock;
}

} // namespace

Failure failed_call(int error, std::string const& what)
{
    auto const detail = what + ": " + boost::system::error_code(error, boost::system::system_category()).message();
    switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
        return Failure::refused(errc::permission_denied, detail, true);
    case ENOSPC:
    case EDQUOT:
        return Failure::refused(errc::store_refused, detail);
    default:
        return Failure::refused(errc::store_unavailable, detail);
    }
}

Descriptor::~Descriptor()
{
    if (number_ >= 0)
        ::close(number_);
}

bool Descriptor::read_at(std::int64_t offset, void* to, std::size_t bytes) const noexcept
{
    auto* const begin = static_cast<char*>(to);
    std::size_t done = 0;
    while (done < bytes) {
        auto const got = ::pread(number_, begin + done, bytes - done, offset + static_cast<std::int64_t>(done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            std::memset(begin + done, 0, bytes - done);
            return got == 0;
        }
        done += static_cast<std::size_t>(got);
    }
    return true;
}

bool Descriptor::write_at(std::int64_t offset, void const* from, std::size_t bytes) const noexcept
{
    for (;;) {
        auto const put = ::pwrite(number_, from, bytes, offset);
        if (put < 0 && errno == EINTR)
            continue;
        if (put >= 0 && static_cast<std::size_t>(put) < bytes)
            errno = ENOSPC;
        return put == static_cast<ssize_t>(bytes);
    }
}

bool Descriptor::deleted() const noexcept
{
    return status().st_nlink == 0;
}

struct stat Descriptor::status() const noexcept
{
    struct stat found{};
    if (::fstat(number_, &found) != 0)
        return {};
    return found;
}

bool Descriptor::try_lock(Area area) const noexcept
{
    auto lock = lock_of(F_WRLCK, area);
    return ::fcntl(number_, F_OFD_SETLK, &lock) == 0;
}

void Descriptor::unlock(Area area) const noexcept
{
    auto lock = lock_of(F_UNLCK, area);
    static_cast<void>(::fcntl(number_, F_OFD_SETLK, &lock));
}

bool Descriptor::locked_elsewhere(Area area) const noexcept
{
    auto lock = lock_of(F_WRLCK, area);
    // an error must not make a living holder look dead
    return ::fcntl(number_, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

Descriptor open_in(Descriptor const& directory, std::string const& name, int flags, unsigned mode)
{
    return Descriptor(
        ::openat(directory.number(), name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, mode));
}

} // namespace tenure::file
