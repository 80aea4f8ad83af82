// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Directory: the folders of this boot, and what can be wrong with them.
#include "directory.hpp"

#include "backend.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace tenure::file
{

namespace
{

std::string boot_folder()
{
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    if (file >> id && id.size() == 36 && id.find('/') == std::string::npos)
        return "v1-" + id;
    throw std::runtime_error("/proc/sys/kernel/random/boot_id cannot be read: mount /proc");
}

FileSystem checked_file_system(SharedDirectory const& directory, FileConfig const& config)
{
    auto found = file_system_of(directory.self);
    if (!found.locks_well && !config.any_filesystem)
        throw std::runtime_error(
            directory.path + " is on the file system " + found.name +
            ", whose locks may not exclude all processes: use a local one (tmpfs, ext4, xfs, btrfs, overlay, zfs)");
    return found;
}

} // namespace

Failure failure_of(std::exception const& error)
{
    if (dynamic_cast<Untrusted const*>(&error) != nullptr)
        return Failure::refused(errc::permission_denied, error.what(), true);
    if (auto const* const call = dynamic_cast<std::system_error const*>(&error)) {
        auto const why = call->code().value();
        if (why == EACCES || why == EPERM || why == EROFS)
            return Failure::refused(errc::permission_denied, error.what(), true);
        bool const is_full = why == ENOSPC || why == EDQUOT;
        return Failure::refused(is_full ? errc::store_refused : errc::store_unavailable, error.what());
    }
    if (dynamic_cast<std::runtime_error const*>(&error) != nullptr)
        return Failure::refused(errc::wrong_server, error.what(), true);
    throw;
}

Directory::Directory(FileConfig const& config)
    : SharedDirectory(directory_of(config), config.directory.empty())
    , file_system(checked_file_system(*this, config))
    , boot_name(boot_folder())
    , boot(open_folder(self, boot_name))
    , ranges(open_folder(boot, "ranges"))
    , holders(open_folder(boot, "holders"))
    , wake(open_folder(boot, "wake"))
{
}

void Directory::clear_other_boots() const
{
    for (auto const& name : self.names()) {
        if (!name.starts_with("v1-") || name == boot_name)
            continue;
        // A lock does not outlive its boot: a process that has one lives now, and sees another ID of this boot.
        auto const folder = self.open(name, O_RDONLY | O_DIRECTORY);
        auto const others = folder ? folder.open("holders", O_RDONLY | O_DIRECTORY) : Descriptor();
        auto const is_alive = [&](auto const& holder) {
            auto const file = others.open(holder, O_RDONLY);
            return file && file.locked_elsewhere();
        };
        if (others && std::ranges::any_of(others.names(), is_alive))
            throw std::runtime_error(
                path +
                " is in use by a process that sees another boot ID: mounts of /proc in a container differ; show all " +
                "processes the same /proc/sys/kernel/random/boot_id, or name another directory");
        std::error_code ignored;
        std::filesystem::remove_all(path + "/" + name, ignored);
    }
}

bool Directory::is_same() const noexcept
{
    struct stat found{};
    return ::stat(boot_path_.c_str(), &found) == 0 && found.st_dev == boot_status_.st_dev &&
           found.st_ino == boot_status_.st_ino;
}

} // namespace tenure::file
