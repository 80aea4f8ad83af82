// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Directory: making, checking and recognising the folders of a store.
#include "directory.hpp"

#include "backend.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <sys/statfs.h>
#include <unistd.h>

namespace tenure::file
{

namespace fs = std::filesystem;

namespace
{

struct FileSystem {
    std::int64_t magic;
    char const* name;
    bool usable;
};
// from linux/magic.h, which lacks some of them
constexpr std::array filesystems{FileSystem{0x01021994, "tmpfs", true},    FileSystem{0xEF53, "ext4", true},
                                 FileSystem{0x58465342, "xfs", true},      FileSystem{0x9123683E, "btrfs", true},
                                 FileSystem{0x794c7630, "overlay", true},  FileSystem{0x2fc12fc1, "zfs", true},
                                 FileSystem{0x6969, "nfs", false},         FileSystem{0xFF534D42, "cifs", false},
                                 FileSystem{0xFE534D42, "smb2", false},    FileSystem{0x65735546, "fuse", false},
                                 FileSystem{0x01021997, "9p", false},      FileSystem{0x00c36400, "ceph", false},
                                 FileSystem{0x6a656a63, "virtiofs", false}};

/** Names the file system. @throws Failed if its locks are unknown */
std::string filesystem_of(Descriptor const& directory, FileConfig const& config)
{
    struct statfs found{};
    if (::fstatfs(directory.number(), &found) != 0)
        throw_errno("cannot examine the file system of " + directory_of(config));
    auto const magic = static_cast<std::int64_t>(found.f_type) & 0xffffffff;
    auto const* const known = std::ranges::find(filesystems, magic, &FileSystem::magic);
    std::ostringstream name;
    if (known == filesystems.end())
        name << "0x" << std::hex << magic;
    else
        name << known->name;
    if (config.any_filesystem || (known != filesystems.end() && known->usable))
        return name.str();
    throw std::runtime_error(
        directory_of(config) + " is on the file system " + name.str() +
        ", whose locks may not exclude all processes: use a local one (tmpfs, ext4, xfs, btrfs, overlay, zfs)");
}

std::string boot_folder()
{
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    if (file >> id && id.size() == 36 && id.find('/') == std::string::npos)
        return "v1-" + id;
    throw std::runtime_error("/proc/sys/kernel/random/boot_id cannot be read: mount /proc");
}

void make_folder(int parent, std::string const& name)
{
    // 0700 until its rights are set
    if (::mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST)
        throw_errno("cannot make the directory " + name);
}

} // namespace

Failure failure_of(std::exception const& error)
{
    if (auto const* const failed = dynamic_cast<Failed const*>(&error))
        return failed->failure;
    if (auto const* const call = dynamic_cast<std::system_error const*>(&error)) {
        auto const why = static_cast<std::errc>(call->code().value());
        using enum std::errc;
        if (why == permission_denied || why == operation_not_permitted || why == read_only_file_system)
            return Failure::refused(errc::permission_denied, error.what(), true);
        bool const is_full = why == no_space_on_device || call->code().value() == EDQUOT;
        return Failure::refused(is_full ? errc::store_refused : errc::store_unavailable, error.what());
    }
    if (dynamic_cast<std::runtime_error const*>(&error) != nullptr)
        return Failure::refused(errc::wrong_server, error.what(), true);
    throw;
}

Directory::Directory(FileConfig const& config)
    : path(directory_of(config))
{
    make_folder(AT_FDCWD, path);
    // the path that the user names may be a symbolic link
    Descriptor const directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory)
        throw_errno("cannot open the directory " + path);
    root = directory.status();
    bool const open_to_all = (root.st_mode & S_IWOTH) != 0 && (root.st_mode & S_ISVTX) == 0;
    if (open_to_all || (config.directory.empty() && root.st_uid != ::geteuid()))
        throw Failed(
            errc::permission_denied,
            path + " could be changed by any user: make it private (chmod 0700), or set its sticky bit (chmod 1777)",
            true);
    filesystem = filesystem_of(directory, config);
    auto const boot = boot_folder();
    boot_path_ = path + "/" + boot;
    auto const folder = open_folder(directory, boot);
    boot_ = folder.status();
    ranges = open_folder(folder, "ranges");
    holders = open_folder(folder, "holders");
    wake = open_folder(folder, "wake");
    remove_earlier_boots();
}

bool Directory::is_trusted(struct stat const& found) const noexcept
{
    // If more users than the owner may write the directory, its owner wants to share it with them.
    return found.st_uid == ::geteuid() || found.st_uid == 0 || found.st_uid == root.st_uid ||
           (root.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

void Directory::adapt(Descriptor const& made, unsigned mode) const
{
    // root works for the directory's owner, who must be able to use the file
    bool const give = ::geteuid() == 0 && root.st_uid != 0;
    if ((give && ::fchown(made.number(), root.st_uid, root.st_gid) != 0) || ::fchmod(made.number(), mode) != 0)
        throw_errno("cannot set the access rights of a file in " + path);
}

Descriptor Directory::open_folder(Descriptor const& parent, std::string const& name) const
{
    make_folder(parent.number(), name);
    auto folder = parent.open(name, O_RDONLY | O_DIRECTORY);
    if (!folder)
        throw_errno("cannot open the directory " + boot_path_ + " (" + name + ")");
    auto const found = folder.status();
    if (!is_trusted(found))
        throw Failed(
            errc::permission_denied, boot_path_ + " (" + name + ") belongs to a user who may not be trusted", true);
    // also one that another process has just made, and died
    if (found.st_uid == ::geteuid() && (found.st_mode & 07777) != (root.st_mode & 07777))
        adapt(folder, root.st_mode & 07777);
    return folder;
}

bool Directory::is_same() const noexcept
{
    struct stat found{};
    return ::stat(boot_path_.c_str(), &found) == 0 && found.st_dev == boot_.st_dev && found.st_ino == boot_.st_ino;
}

Descriptor Directory::open_file(Descriptor const& folder, std::string const& name, int flags) const
{
    auto file = folder.open(name, flags);
    if (!file || is_trusted(file.status()))
        return file;
    errno = EACCES;
    return Descriptor();
}

Descriptor Directory::create_file(Descriptor const& folder, std::string const& name, std::string const& draft) const
{
    auto file = folder.open(draft, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (!file)
        throw_errno("cannot make a file in " + path);
    adapt(file, root.st_mode & 0666);
    static_cast<void>(file.try_lock(whole_file));
    bool const made = ::linkat(folder.number(), draft.c_str(), folder.number(), name.c_str(), 0) == 0;
    int const error = errno;
    ::unlinkat(folder.number(), draft.c_str(), 0);
    errno = error;
    if (!made && error != EEXIST)
        throw_errno("cannot make a file in " + path);
    return file;
}

Descriptor Directory::create_fifo(std::string const& name) const
{
    bool const made = ::mkfifoat(wake.number(), name.c_str(), 0600) == 0;
    auto fifo = made ? wake.open(name, O_RDWR) : Descriptor();
    if (!fifo)
        throw_errno("cannot make a FIFO in " + path);
    adapt(fifo, root.st_mode & 0666);
    return fifo;
}

void Directory::remove_holder(std::string const& name) const noexcept
{
    ::unlinkat(wake.number(), name.c_str(), 0);
    ::unlinkat(holders.number(), name.c_str(), 0);
}

void Directory::remove_earlier_boots() const
{
    std::error_code error;
    for (auto entry = fs::directory_iterator(path, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
        std::error_code ignored;
        if (entry->path().filename().native().starts_with("v1-") && entry->path() != fs::path(boot_path_))
            fs::remove_all(entry->path(), ignored);
    }
}

} // namespace tenure::file
