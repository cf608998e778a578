// replaced by the module's first source
