// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// SharedDirectory: making and checking of files and folders.
#include "shared_directory.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sstream>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/statfs.h>
#include <unistd.h>

namespace tenure
{

namespace
{

struct KnownFileSystem {
    std::int64_t magic;
    char const* name;
    bool locks_well;
};
// from linux/magic.h, which lacks some of them
constexpr std::array known_file_systems{
    KnownFileSystem{0x01021994, "tmpfs", true},    KnownFileSystem{0xEF53, "ext4", true},
    KnownFileSystem{0x58465342, "xfs", true},      KnownFileSystem{0x9123683E, "btrfs", true},
    KnownFileSystem{0x794c7630, "overlay", true},  KnownFileSystem{0x2fc12fc1, "zfs", true},
    KnownFileSystem{0x6969, "nfs", false},         KnownFileSystem{0xFF534D42, "cifs", false},
    KnownFileSystem{0xFE534D42, "smb2", false},    KnownFileSystem{0x65735546, "fuse", false},
    KnownFileSystem{0x01021997, "9p", false},      KnownFileSystem{0x00c36400, "ceph", false},
    KnownFileSystem{0x6a656a63, "virtiofs", false}};

/** Throws the error in `errno`: std::runtime_error if waiting does not help. */
[[noreturn]] void refuse(std::string const& attempt)
{
    if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENAMETOOLONG)
        throw std::runtime_error(attempt + ": " + std::system_category().message(errno));
    throw_errno(attempt);
}

Descriptor open_or_make(std::string const& path, bool own_only)
{
    // 0700 until its rights are set. A link of another user must not lead anywhere.
    int const no_link = own_only ? O_NOFOLLOW : 0;
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
        refuse("cannot make the directory " + path);
    Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | no_link));
    if (!directory)
        refuse("cannot open the directory " + path);
    return directory;
}

} // namespace

FileSystem file_system_of(Descriptor const& file)
{
    struct statfs found{};
    if (::fstatfs(file.number(), &found) != 0)
        throw_errno("cannot examine a file system");
    auto const magic = static_cast<std::int64_t>(found.f_type) & 0xffffffff;
    auto const* const known = std::ranges::find(known_file_systems, magic, &KnownFileSystem::magic);
    if (known != known_file_systems.end())
        return {known->name, known->locks_well};
    std::ostringstream number;
    number << "0x" << std::hex << magic;
    return {number.str(), false};
}

SharedDirectory::SharedDirectory(std::string of, bool own_only)
    : path(std::move(of))
    , self(open_or_make(path, own_only))
    , status(self.status())
{
    bool const open_to_all = (status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0;
    if (own_only && status.st_uid != ::geteuid())
        throw Untrusted(
            path + " belongs to user " + std::to_string(status.st_uid) + ": delete it, or name another directory");
    if (open_to_all)
        throw Untrusted(
            path + " could be changed by any user: make it private (chmod 0700), or set its sticky bit (chmod 1777)");
}

bool SharedDirectory::is_trusted(Descriptor const& file) const noexcept
{
    auto const owner = file.status().st_uid;
    // If more users than the owner may write the directory, its owner wants to share it with them.
    return owner == ::geteuid() || owner == 0 || owner == status.st_uid || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

void SharedDirectory::adapt(Descriptor const& made, unsigned mode) const
{
    // root works for the directory's owner, who must be able to use the file
    bool const give = ::geteuid() == 0 && status.st_uid != 0;
    if ((give && ::fchown(made.number(), status.st_uid, status.st_gid) != 0) || ::fchmod(made.number(), mode) != 0)
        throw_errno("cannot set the access rights of a file in " + path);
}

Descriptor SharedDirectory::open_folder(Descriptor const& parent, std::string const& name) const
{
    bool const made = ::mkdirat(parent.number(), name.c_str(), 0700) == 0;
    if (!made && errno != EEXIST)
        throw_errno("cannot make the directory " + path + " (" + name + ")");
    auto folder = parent.open(name, O_RDONLY | O_DIRECTORY);
    if (!folder)
        throw_errno("cannot open the directory " + path + " (" + name + ")");
    if (!is_trusted(folder))
        throw Untrusted(path + " (" + name + ") belongs to a user who may not be trusted");
    if (made)
        adapt(folder, status.st_mode & 07777);
    return folder;
}

Descriptor SharedDirectory::open_file(Descriptor const& folder, std::string const& name, int flags) const noexcept
{
    auto file = folder.open(name, flags);
    if (!file || is_trusted(file))
        return file;
    errno = EACCES;
    return Descriptor();
}

Descriptor
SharedDirectory::create_file(Descriptor const& folder, std::string const& name, std::string const& draft) const
{
    auto file = folder.open(draft, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (!file)
        throw_errno("cannot make a file in " + path);
    adapt(file, status.st_mode & 0666);
    static_cast<void>(file.try_lock(whole_file));
    bool const made = ::linkat(folder.number(), draft.c_str(), folder.number(), name.c_str(), 0) == 0;
    int const error = errno;
    ::unlinkat(folder.number(), draft.c_str(), 0);
    errno = error;
    if (!made && error != EEXIST)
        throw_errno("cannot make a file in " + path);
    return file;
}

Descriptor SharedDirectory::create_fifo(Descriptor const& folder, std::string const& name) const
{
    bool const made = ::mkfifoat(folder.number(), name.c_str(), 0600) == 0;
    auto fifo = made ? folder.open(name, O_RDWR) : Descriptor();
    if (!fifo)
        throw_errno("cannot make a FIFO in " + path);
    adapt(fifo, status.st_mode & 0666);
    return fifo;
}

} // namespace tenure
