// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Directory: making, checking and recognising the folders of a store.
#include "directory.hpp"

#include "config.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <sys/statfs.h>
#include <unistd.h>

namespace tenure::file
{

namespace
{

struct FileSystem {
    std::int64_t magic;
    std::string_view name;
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

/** Names the file system, or says why it is not used. */
std::variant<std::string, Failure> filesystem_of(Descriptor const& directory, FileConfig const& config)
{
    struct statfs found{};
    if (::fstatfs(directory.number(), &found) != 0)
        return failed_call(errno, "cannot examine the file system of " + directory_of(config));
    auto const magic = static_cast<std::int64_t>(found.f_type) & 0xffffffff;
    auto const* const known = std::ranges::find(filesystems, magic, &FileSystem::magic);
    bool const is_known = known != filesystems.end();
    std::ostringstream number;
    number << "0x" << std::hex << magic;
    auto name = is_known ? std::string(known->name) : number.str();
    if (config.any_filesystem || (is_known && known->usable))
        return name;
    return Failure::refused(
        errc::wrong_server,
        directory_of(config) + " is on the file system " + name +
            ", whose locks may not exclude all processes: use a local one (tmpfs, ext4, xfs, btrfs, overlay, zfs)",
        true);
}

std::variant<std::string, Failure> boot_folder()
{
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    if (file >> id && id.size() == 36 && id.find('/') == std::string::npos)
        return "v1-" + id;
    return Failure::refused(errc::wrong_server, "/proc/sys/kernel/random/boot_id cannot be read: mount /proc", true);
}

} // namespace

bool Directory::is_trusted(struct stat const& found) const noexcept
{
    // If more users than the owner may write the directory, its owner wants to share it with them.
    return found.st_uid == ::geteuid() || found.st_uid == 0 || found.st_uid == root_.st_uid ||
           (root_.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

bool Directory::adapt(int descriptor, unsigned mode) const noexcept
{
    // root works for the directory's owner, who must be able to use the file
    bool const give = ::geteuid() == 0 && root_.st_uid != 0;
    return (!give || ::fchown(descriptor, root_.st_uid, root_.st_gid) == 0) && ::fchmod(descriptor, mode) == 0;
}

std::variant<Descriptor, Failure> Directory::open_folder(int parent, std::string const& name, bool is_root)
{
    auto const shown = is_root ? name : boot_path_ + " (" + name + ")";
    // 0700 until its rights are set
    bool const created = ::mkdirat(parent, name.c_str(), 0700) == 0;
    if (!created && errno != EEXIST)
        return failed_call(errno, "cannot make the directory " + shown);
    // the path that the user names may be a symbolic link
    Descriptor folder(
        ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | (is_root ? 0 : O_NOFOLLOW)));
    if (!folder)
        return failed_call(errno, "cannot open the directory " + shown);
    auto const found = folder.status();
    if (is_root) {
        root_ = found;
        bool const default_path = path_.empty();
        bool const open_to_all = (found.st_mode & S_IWOTH) != 0 && (found.st_mode & S_ISVTX) == 0;
        if (open_to_all || (default_path && found.st_uid != ::geteuid()))
            return Failure::refused(
                errc::permission_denied,
                shown + " could be changed by any user: make it private (chmod 0700), or set its sticky bit (chmod "
                        "1777)",
                true);
    } else if (!is_trusted(found)) {
        return Failure::refused(errc::permission_denied, shown + " belongs to a user who may not be trusted", true);
    } else if (created && !adapt(folder.number(), root_.st_mode & 07777)) {
        return failed_call(errno, "cannot set the access rights of " + shown);
    }
    return folder;
}

std::variant<Directory, Failure> Directory::open(FileConfig const& config)
{
    Directory made;
    made.path_ = config.directory;
    auto root = made.open_folder(AT_FDCWD, directory_of(config), true);
    if (auto* const failure = std::get_if<Failure>(&root))
        return std::move(*failure);
    made.path_ = directory_of(config);
    auto const& directory = std::get<Descriptor>(root);
    auto filesystem = filesystem_of(directory, config);
    if (auto* const failure = std::get_if<Failure>(&filesystem))
        return std::move(*failure);
    made.filesystem_ = std::get<std::string>(std::move(filesystem));
    auto const boot = boot_folder();
    if (auto const* const failure = std::get_if<Failure>(&boot))
        return *failure;
    made.boot_path_ = made.path_ + "/" + std::get<std::string>(boot);
    auto folder = made.open_folder(directory.number(), std::get<std::string>(boot), false);
    if (auto* const failure = std::get_if<Failure>(&folder))
        return std::move(*failure);
    made.directory_ = std::get<Descriptor>(std::move(folder));
    made.boot_ = made.directory_.status();
    for (auto const& [name, descriptor] :
         {std::pair("ranges", &made.ranges_), std::pair("holders", &made.holders_), std::pair("wake", &made.wake_)}) {
        auto inner = made.open_folder(made.directory_.number(), name, false);
        if (auto* const failure = std::get_if<Failure>(&inner))
            return std::move(*failure);
        *descriptor = std::get<Descriptor>(std::move(inner));
    }
    return made;
}

bool Directory::is_same() const noexcept
{
    struct stat found{};
    return ::stat(boot_path_.c_str(), &found) == 0 && found.st_dev == boot_.st_dev && found.st_ino == boot_.st_ino;
}

Descriptor Directory::open_file(Descriptor const& folder, std::string const& name, int flags) const
{
    auto file = open_in(folder, name, flags);
    if (!file || is_trusted(file.status()))
        return file;
    errno = EACCES;
    return Descriptor();
}

Descriptor Directory::create_file(Descriptor const& folder, std::string const& name) const
{
    auto file = open_in(folder, name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file && !adapt(file.number(), root_.st_mode & 0666))
        return Descriptor();
    return file;
}

bool Directory::create_fifo(std::string const& name) const
{
    if (::mkfifoat(wake_.number(), name.c_str(), 0600) != 0)
        return false;
    auto const fifo = open_in(wake_, name, O_RDWR);
    return fifo && adapt(fifo.number(), root_.st_mode & 0666);
}

void Directory::remove_earlier_boots() const
{
    namespace fs = std::filesystem;
    std::error_code error;
    for (auto entry = fs::directory_iterator(path_, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
        std::error_code ignored;
        if (entry->path().filename().native().starts_with("v1-") && entry->path() != fs::path(boot_path_))
            fs::remove_all(entry->path(), ignored);
    }
}

} // namespace tenure::file
