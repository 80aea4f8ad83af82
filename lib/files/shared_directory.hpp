// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "descriptor.hpp"

#include <stdexcept>
#include <string>

#include <sys/stat.h>

namespace tenure
{

/** A directory or file that users could change who may not be trusted. */
struct Untrusted : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/** The kind of file system that a file is on. */
struct FileSystem {
    /// "tmpfs", "ext4" ...; of an unknown one its number
    std::string name;
    /// local, and its locks are known to exclude all processes
    bool locks_well = false;
};
[[nodiscard]] FileSystem file_system_of(Descriptor const& file);

/** A directory in which processes of one or several users make files for each other. All files have the owner and the
 *  access rights of the directory, whatever the umask. Trusted are root, this user, and all who may write there. */
class SharedDirectory
{
public:
    /** Opens the directory, and makes it for this user alone if it is missing.
     *  @param own_only  also refuses that of another user, and a symbolic link
     *  @throws Untrusted, std::system_error */
    SharedDirectory(std::string of, bool own_only);

    /** Opens a folder, and makes it if it is missing. @throws Untrusted, std::system_error */
    [[nodiscard]] Descriptor open_folder(Descriptor const& parent, std::string const& name) const;
    /** Opens a file that exists already. Refuses what an untrusted user has put there; `errno` is then EACCES. */
    [[nodiscard]] Descriptor open_file(Descriptor const& folder, std::string const& name, int flags) const noexcept;
    /** Makes an empty file, which appears under its name when its access rights are set, and when it is locked as a
     *  whole. No effect if the name is taken.
     *  @param draft  its name until then
     *  @throws std::system_error */
    [[nodiscard]] Descriptor
    create_file(Descriptor const& folder, std::string const& name, std::string const& draft) const;
    /** Makes a FIFO, and opens it for both directions: without writers it would be at its end all the time.
     *  @throws std::system_error */
    [[nodiscard]] Descriptor create_fifo(Descriptor const& folder, std::string const& name) const;

    std::string const path;
    Descriptor const self;
    /// of the directory itself
    struct stat const status;

private:
    [[nodiscard]] bool is_trusted(Descriptor const& file) const noexcept;
    void adapt(Descriptor const& made, unsigned mode) const;
};

} // namespace tenure
