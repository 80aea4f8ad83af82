// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Descriptor: reading, writing and locks.
#include "descriptor.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace tenure
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

void throw_errno(std::string const& attempt)
{
    throw std::system_error(errno, std::system_category(), attempt);
}

Descriptor::~Descriptor()
{
    if (number_ >= 0)
        ::close(number_);
}

Descriptor Descriptor::open(std::string const& name, int flags, unsigned mode) const noexcept
{
    return Descriptor(::openat(number_, name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, mode));
}

std::vector<std::string> Descriptor::names() const
{
    namespace fs = std::filesystem;
    std::vector<std::string> names;
    std::error_code error;
    auto const path = "/proc/self/fd/" + std::to_string(number_);
    for (auto entry = fs::directory_iterator(path, error); !error && entry != fs::directory_iterator();
         entry.increment(error))
        names.push_back(entry->path().filename().string());
    return names;
}

void Descriptor::read_at(std::int64_t offset, void* to, std::size_t bytes) const
{
    // no address of nothing: a line without entries, for example
    if (bytes == 0)
        return;
    auto const got = ::pread(number_, to, bytes, offset);
    if (got < 0)
        throw_errno("cannot read a file");
    std::memset(static_cast<char*>(to) + got, 0, bytes - static_cast<std::size_t>(got));
}

void Descriptor::write_at(std::int64_t offset, void const* from, std::size_t bytes) const
{
    auto const put = ::pwrite(number_, from, bytes, offset);
    if (put == static_cast<ssize_t>(bytes))
        return;
    if (put >= 0)
        errno = ENOSPC;
    throw_errno("cannot write a file");
}

struct stat Descriptor::status() const noexcept
{
    struct stat found{};
    if (::fstat(number_, &found) != 0)
        return {};
    return found;
}

bool Descriptor::try_lock(Area area) const
{
    auto lock = lock_of(F_WRLCK, area);
    if (::fcntl(number_, F_OFD_SETLK, &lock) == 0)
        return true;
    if (errno != EAGAIN && errno != EACCES)
        throw_errno("cannot lock a file");
    return false;
}

void Descriptor::unlock(Area area) const noexcept
{
    auto lock = lock_of(F_UNLCK, area);
    static_cast<void>(::fcntl(number_, F_OFD_SETLK, &lock));
}

bool Descriptor::locked_elsewhere() const noexcept
{
    auto lock = lock_of(F_WRLCK, whole_file);
    // an error must not make a living holder look dead
    return ::fcntl(number_, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

} // namespace tenure
